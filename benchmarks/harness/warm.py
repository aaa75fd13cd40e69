"""Both sides alternately in one Spark session, after a round that is not timed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness.lab import Lab, Windows, require_same
from benchmarks.harness.measure import Contender, Row, alternate, ratio_row
from benchmarks.harness.once import WORKS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compare(lab: Lab, spark: SparkSession, name: str, source: Path, what: str, at_least: float) -> Row:
    """Return the row for one source in a warm session."""
    folder, work = lab.folder("warm"), WORKS[name]
    theirs, ours = folder / "theirs", Windows(folder / "ours", source, work.ours, spark)
    rival = Contender(
        prepare=lambda: shutil.rmtree(theirs, ignore_errors=True),
        run=lambda: work.theirs(spark, str(source)).write.parquet(str(theirs)),
    )
    both = alternate(rival, Contender(prepare=ours.prepare, run=ours.run), lab.rounds)
    require_same(theirs, ours.output, work.compared)
    shutil.rmtree(folder)
    size = source.stat().st_size
    return ratio_row(f"{size / 1e9:.2f} GB {what}, warm session", both, (size / 1e6, "MB"), at_least=at_least)
