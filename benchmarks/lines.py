"""Log lines into Parquet at `local[2]`: `spark.read.text` against a window."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import Lines
from benchmarks.data import log_line, write_lines
from benchmarks.lab import Lab, Windows, require_same
from benchmarks.measure import Contender, Row, alternate, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for lines ended by LF, and one for CRLF."""
    with lab.spark(cores=2) as spark:
        for name, newline in (("LF", "\n"), ("CRLF", "\r\n")):
            folder = lab.folder("lines")
            source = folder / "source" / "requests.log"
            size = write_lines(source, lab.size, log_line, newline)
            yield compare(lab, spark, source, f"{size / 1e9:.2f} GB of log lines, {name}")
            shutil.rmtree(folder)


def compare(lab: Lab, spark: SparkSession, source: Path, work: str) -> Row:
    """Return the row of one source: plan, read, prove and publish against a plain read and write."""
    folder = source.parents[1]
    theirs = folder / "theirs"
    ours = Windows(folder / "ours", source, Lines(), spark)
    rival = Contender(
        prepare=lambda: shutil.rmtree(theirs, ignore_errors=True),
        run=lambda: spark.read.text(str(source)).write.parquet(str(theirs)),
    )
    his, own = alternate(rival, Contender(prepare=ours.prepare, run=ours.run), lab.rounds)
    require_same(theirs, ours.output)
    megabytes = source.stat().st_size / 1e6
    steps = ", ".join(f"{step} {seconds:.2f}" for step, seconds in ours.seconds.items())
    return ratio_row(
        f"{work} (cpu ratio {min(his.cpu_seconds) / min(own.cpu_seconds):.2f})",
        his.show(megabytes, "MB"),
        f"{own.show(megabytes, 'MB')}; last: {steps}",
        ratio=his.best / own.best,
        at_least=1.6,
    )
