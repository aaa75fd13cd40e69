"""Posts to a chat when a window fails its proof, has bad records, or is late.

Both pipelines read `$BLOCKREAD_DEMO_DIR/landing/orders/`, by default below `.demo/` in this repository. Their
connection `blockread_chat` has a webhook's address as its password, as Slack, Mattermost or Google Chat give one:

    airflow connections add blockread_chat --conn-type generic --conn-password https://hooks.example.com/services/...
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, AsyncCallback, DeadlineAlert, DeadlineReference

from airflow_provider_blockread.notifications.blockread import BlockReadNotifier
from airflow_provider_blockread.options import FileSource, JsonLines, ParquetSink, Policies, SparkJob
from airflow_provider_blockread.task_group import BlockReadTaskGroup

FOLDER = Path(os.environ.get("BLOCKREAD_DEMO_DIR") or Path(__file__).resolve().parent.parent / ".demo")
ORDERS = FileSource(f"{FOLDER}/landing/orders", pattern="*.jsonl")
SPARK = SparkJob(master="local[*]")
CHAT = "blockread_chat"

notifier = BlockReadNotifier(CHAT)

with DAG(
    "blockread_notifies",
    description="Quarantines bad records, and reports them, and proofs that fail, to a chat",
    schedule=None,
    doc_md=__doc__,
    tags=["blockread"],
    is_paused_upon_creation=True,
    max_active_runs=1,
):
    BlockReadTaskGroup(
        "orders",
        source=ORDERS,
        sink=ParquetSink(f"{FOLDER}/lake/checked"),
        record_format=JsonLines(schema="id long, amount double"),
        policies=Policies(on_bad_record="quarantine"),
        spark=SPARK,
        default_args={
            "on_failure_callback": notifier,
            "on_success_callback": notifier,
            "on_skipped_callback": notifier,
        },
    )

with DAG(
    "blockread_deadline",
    description="Posts to a chat when an hour's orders are not published half an hour after their run was queued",
    schedule="@hourly",
    catchup=False,
    doc_md=__doc__,
    tags=["blockread"],
    is_paused_upon_creation=True,
    max_active_runs=1,
    deadline=DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=timedelta(minutes=30),
        callback=AsyncCallback(BlockReadNotifier, kwargs={"conn_id": CHAT}),
    ),
):
    BlockReadTaskGroup(
        "orders",
        source=ORDERS,
        sink=ParquetSink(f"{FOLDER}/lake/hourly"),
        record_format=JsonLines(schema="id long, amount double"),
        policies=Policies(on_bad_record="quarantine"),
        spark=SPARK,
    )
