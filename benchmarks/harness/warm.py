"""All sides alternately, Spark and blockread in one session, after a round that is not timed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.harness.lab import Lab, Windows, require_same
from benchmarks.harness.measure import Contender, Row, Timed, alternate, beside_others
from benchmarks.harness.once import WORKS
from benchmarks.harness.peers import floor, peers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compare(lab: Lab, spark: SparkSession, name: str, source: Path, what: str) -> Row:
    """Return the row for one source in a warm session, beside DuckDB and polars, and with its floor."""
    folder, work = lab.folder("warm"), WORKS[name]
    theirs, ours = folder / "theirs", Windows(folder / "ours", source, work.ours, spark)
    rival = Contender(
        prepare=lambda: shutil.rmtree(theirs, ignore_errors=True),
        run=lambda: work.theirs(spark, str(source)).write.parquet(str(theirs)),
    )
    with peers(("DuckDB", "polars"), name, source, folder) as others:
        sides: dict[str, Timed] = {"Spark": rival, "blockread": ours, **others}
        times = dict(zip(sides, alternate(list(sides.values()), lab.rounds), strict=True))
    for other in ("DuckDB", "polars", theirs.name):
        require_same(folder / other, ours.output, work.compared)
    least = floor(name, source, ours.output, folder / "floor", lab.rounds)
    shutil.rmtree(folder)
    size = source.stat().st_size
    title = f"{size / 1e9:.2f} GB {what}, warm session"
    return beside_others(title, times, (size / 1e6, "MB"), work.targets, least)
