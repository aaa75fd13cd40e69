"""Log lines into Parquet at `local[2]`: `spark.read.text` against a window.

A block group is one Spark application, so first each run has an application of its own, whose start is not timed. Then
both sides take turns in one session, where the JVM has compiled all that it ever will: Spark's best case.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import Lines
from benchmarks import once
from benchmarks.data import log_line, write_lines
from benchmarks.lab import Lab, Windows, require_same
from benchmarks.measure import Contender, Row, Times, alternate, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TARGET = 1.6


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for lines ended by LF and by CRLF, in fresh applications and in one session."""
    folder = lab.folder("lines")
    sources = {}
    for name, newline in (("LF", "\n"), ("CRLF", "\r\n")):
        sources[name] = folder / name / "requests.log"
        write_lines(sources[name], lab.size, log_line, newline)
    for name, source in sources.items():
        yield fresh(lab, source, f"{lab.size / 1e9:.2f} GB log lines, {name}, fresh application")
    with lab.spark(cores=2) as spark:
        for name, source in sources.items():
            yield warm(lab, spark, source, f"{lab.size / 1e9:.2f} GB log lines, {name}, warm session")
    shutil.rmtree(folder)


def fresh(lab: Lab, source: Path, work: str) -> Row:
    """Return the row of one source where each run is the first of its application."""
    folder = lab.folder("once")
    his, own = Times(), Times()
    for _ in range(lab.rounds):
        once.measure("spark", source, folder, his)
        once.measure("blockread", source, folder, own)
    require_same(folder / "theirs", folder / "ours" / "output")
    return ratio_row(work, (his, own), (source.stat().st_size / 1e6, "MB"), at_least=_TARGET)


def warm(lab: Lab, spark: SparkSession, source: Path, work: str) -> Row:
    """Return the row of one source in a session that has done the same before."""
    folder = lab.folder("warm")
    theirs, ours = folder / "theirs", Windows(folder / "ours", source, Lines(), spark)
    rival = Contender(
        prepare=lambda: shutil.rmtree(theirs, ignore_errors=True),
        run=lambda: spark.read.text(str(source)).write.parquet(str(theirs)),
    )
    both = alternate(rival, Contender(prepare=ours.prepare, run=ours.run), lab.rounds)
    require_same(theirs, ours.output)
    return ratio_row(work, both, (source.stat().st_size / 1e6, "MB"), at_least=_TARGET)
