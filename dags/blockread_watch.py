"""Two pipelines that start when files land: one by a sensor, one by a watched asset.

Both read `$BLOCKREAD_DEMO_DIR/landing/`, by default below `.demo/` in this repository, as separate feeds, so each reads
each file once. `make up` shows them; they are paused at first.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, Asset, AssetWatcher

from airflow_provider_blockread.options import FileSource, ParquetSink, SparkJob
from airflow_provider_blockread.sensors.new_files import NewFilesSensor
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from airflow_provider_blockread.triggers.new_files_events import NewFilesEventTrigger

FOLDER = Path(os.environ.get("BLOCKREAD_DEMO_DIR") or Path(__file__).resolve().parent.parent / ".demo")
LOGS = FileSource(f"{FOLDER}/landing/logs", pattern="*.log", min_age=5)
SPARK = SparkJob(master="local[*]")

with DAG(
    "blockread_waits",
    description="Waits in the triggerer until log files land, then reads them",
    schedule=None,
    doc_md=__doc__,
    tags=["blockread"],
    is_paused_upon_creation=True,
    max_active_runs=1,
):
    arrived = NewFilesSensor(
        task_id="arrived",
        source=LOGS,
        group="log_lines",
        deferrable=True,
        poke_interval=10,
        timeout=timedelta(hours=1),
        soft_fail=True,
    )
    arrived >> BlockReadTaskGroup("log_lines", source=LOGS, sink=ParquetSink(f"{FOLDER}/lake/waited"), spark=SPARK)

LANDED = Asset(
    "blockread_demo_logs",
    watchers=[
        AssetWatcher(
            name="new_logs",
            trigger=NewFilesEventTrigger(source=LOGS, feed="blockread_watches.log_lines", listing=10),
        )
    ],
)

with DAG(
    "blockread_watches",
    description="Starts by itself when log files land; plans what waits in the ledger",
    schedule=[LANDED],
    doc_md=__doc__,
    tags=["blockread"],
    is_paused_upon_creation=True,
    max_active_runs=1,
):
    BlockReadTaskGroup("log_lines", source=LOGS, sink=ParquetSink(f"{FOLDER}/lake/watched"), spark=SPARK)
