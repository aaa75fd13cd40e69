"""Drops lines that start with a dot, and writes one file for each block, in four ways.

The function is in a module, named by its import path, or in this file: on batches of records, or on a DataFrame.
A query of Spark SQL does the same.

Each way is a feed of its own and reads `$BLOCKREAD_DEMO_DIR/landing/notes/`, by default below `.demo/` in this
repository. The name of a file ends in its block's id in hex: the block's number in the window, whose id the name holds
too, as in `part-w8c51b96b80ff4a5b-g1-00000-e1-t0-0002-b1f.txt`. `make up` shows the DAG; it is paused at first.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from airflow.sdk import DAG

from airflow_provider_blockread.decorators import blockread
from airflow_provider_blockread.options import ArrowFunction, FileSource, SparkJob, Splitting, Sql, TextSink
from airflow_provider_blockread.task_group import BlockReadTaskGroup

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql import DataFrame

HERE = Path(__file__).resolve().parent
FOLDER = Path(os.environ.get("BLOCKREAD_DEMO_DIR") or HERE.parent / ".demo")
NOTES = FileSource(f"{FOLDER}/landing/notes", pattern="*.txt")
BLOCKS = Splitting(block_size="16KiB")
SPARK = SparkJob(master="local[*]")

with DAG(
    "blockread_dots",
    description="Drops lines that start with a dot and writes one file for each block, in four ways",
    schedule=None,
    doc_md=__doc__,
    tags=["blockread"],
    is_paused_upon_creation=True,
    max_active_runs=1,
):
    # Spark gets the module in `py_files`; commands such as `blockread windows rebuild` can call the function, too.
    BlockReadTaskGroup(
        "imported",
        source=NOTES,
        sink=TextSink(f"{FOLDER}/lake/dots/imported", per="block"),
        splitting=BLOCKS,
        function=ArrowFunction("dots:without_dots"),
        spark=replace(SPARK, py_files=[str(HERE / "dots.py")]),
    )

    # Spark gets the text of the function, which therefore imports what it uses.
    @blockread(source=NOTES, sink=TextSink(f"{FOLDER}/lake/dots/decorated", per="block"), splitting=BLOCKS, spark=SPARK)
    def decorated(batch: RecordBatch) -> RecordBatch:
        """Return the lines that do not start with a dot."""
        import pyarrow.compute as pc  # noqa: PLC0415

        return batch.filter(pc.invert(pc.starts_with(batch["value"], ".")))

    decorated()

    # A DataFrame has no blocks: `_block` says which file a row goes to, `_offset` where in it. Neither is written.
    @blockread(
        source=NOTES,
        sink=TextSink(f"{FOLDER}/lake/dots/framed", per="block"),
        splitting=BLOCKS,
        spark=SPARK,
        columns=["_block", "_offset"],
    )
    def framed(lines: DataFrame) -> DataFrame:
        """Return the lines that do not start with a dot."""
        from pyspark.sql import functions as f

        return lines.where(~f.startswith("value", f.lit(".")))

    framed()

    BlockReadTaskGroup(
        "queried",
        source=NOTES,
        sink=TextSink(f"{FOLDER}/lake/dots/queried", per="block"),
        splitting=BLOCKS,
        function=Sql("SELECT * FROM records WHERE NOT startswith(value, '.')", columns=["_block", "_offset"]),
        spark=SPARK,
    )
