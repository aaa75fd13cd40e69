"""Planning on SQLite: list, compare with the known files, freeze; against Spark's own listing, which keeps nothing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import Lines
from benchmarks.harness.data import write_small_files
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, Times, limit_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LIMIT = 2.0  # seconds for 100,000 files


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for a first plan of many files, and one for a second plan, of known files."""
    folder = lab.folder("planning")
    source = folder / "source"
    write_small_files(source, lab.files, range(10, 60))
    windows = Windows(folder / "ours", source, Lines())
    first, second, listing = Times(), Times(), Times()
    with lab.spark(cores=2) as spark:
        for _ in range(lab.rounds):
            listing.add(lambda: _list(spark, source))
            windows.prepare()
            first.add(lambda: _require(windows, "first", lab.files))
            second.add(lambda: _require(windows, "second", 0))
    shutil.rmtree(folder)
    rival = f"{listing.best:.2f} s, lists only"
    limit = _LIMIT * max(lab.files / 100_000, 0.3)
    yield limit_row(f"plan {lab.files:,} new files", first, limit, rival=rival)
    yield limit_row(f"plan {lab.files:,} known files", second, limit, rival=rival)


def _list(spark: SparkSession, source: Path) -> None:
    spark.read.format("binaryFile").load(str(source))


def _require(windows: Windows, key: str, files: int) -> None:
    found = windows.plan(key).files
    if found != files:
        msg = f"the {key} plan holds {found} files instead of {files}"
        raise ValueError(msg)
