"""Turns three kinds of files into tables, each record exactly once: log lines, JSON lines, a few thousand small files.

`make demo` creates the files and runs this DAG in process; `make up` shows it in Airflow's UI. Files are in
`$BLOCKREAD_DEMO_DIR/landing/`, by default below `.demo/` in this repository, and records go to `lake/` next to it.
Add files to `landing/` and run the DAG again: it takes only those.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import DAG

from airflow_provider_blockread.decorators import blockread
from airflow_provider_blockread.options import (
    DeltaSink,
    FileSource,
    JsonLines,
    ParquetSink,
    SparkJob,
    Splitting,
    WholeFile,
)
from airflow_provider_blockread.task_group import BlockReadTaskGroup

if TYPE_CHECKING:
    from pyarrow import RecordBatch

FOLDER = Path(os.environ.get("BLOCKREAD_DEMO_DIR") or Path(__file__).resolve().parent.parent / ".demo")
LANDING, LAKE = FOLDER / "landing", FOLDER / "lake"

with DAG(
    "blockread_demo",
    description="Log lines and small files to Parquet, JSON lines to a Delta table, each record exactly once",
    schedule=None,
    doc_md=__doc__,
    tags=["blockread"],
    default_args={"retries": 1, "retry_delay": timedelta(seconds=10)},
    max_active_runs=1,
):
    # Lines end at CRLF, LF or CR; large files are split into blocks, which Spark reads in parallel.
    BlockReadTaskGroup(
        "log_lines",
        source=FileSource(f"{LANDING}/logs", pattern="*.log"),
        sink=ParquetSink(f"{LAKE}/logs", compression="zstd"),
        splitting=Splitting(block_size="4MiB"),
        spark=SparkJob(master="local[*]"),
    )

    # A Delta table with a partition a day. Fields that the schema leaves out are left out of it, too. Only the text of
    # the function reaches Spark, so it has its imports.
    @blockread(
        source=FileSource(f"{LANDING}/events", pattern="**/*.jsonl"),
        record_format=JsonLines(schema="id long, at timestamp, user string, action string, amount double"),
        sink=DeltaSink(f"{LAKE}/events", partition_by=["day"]),
        splitting=Splitting(block_size="4MiB"),
        spark=SparkJob(master="local[*]"),
    )
    def events(batch: RecordBatch) -> RecordBatch:
        """Add the day of each event."""
        import pyarrow as pa  # noqa: PLC0415

        return batch.append_column("day", batch["at"].cast(pa.date32()))

    events()

    # A few Spark tasks read thousands of files and write a few Parquet files.
    BlockReadTaskGroup(
        "reports",
        source=FileSource(f"{LANDING}/reports", pattern="**/*.txt"),
        record_format=WholeFile(),
        sink=ParquetSink(f"{LAKE}/reports"),
        spark=SparkJob(master="local[*]"),
    )
