"""Log lines into Parquet at `local[2]`: `spark.read.text` against a window.

A block group is one Spark application, so first each run has a separate application, whose start is not timed. Then
both sides alternate in one session, where the JVM has compiled everything: Spark's best case.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from benchmarks.harness import once, warm
from benchmarks.harness.data import log_line, write_lines
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Row

_TARGET = 1.6


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for lines ended by LF and by CRLF, in fresh applications and in one session."""
    folder = lab.folder("lines")
    sources = {}
    for name, newline in (("LF", "\n"),) if lab.quick else (("LF", "\n"), ("CRLF", "\r\n")):
        sources[name] = folder / name / "requests.log"
        write_lines(sources[name], lab.size, log_line, newline)
    for name, source in () if lab.quick else sources.items():
        yield once.compare(lab, "lines", source, f"log lines, {name}", _TARGET)
    with lab.spark(cores=2) as spark:
        for name, source in sources.items():
            yield warm.compare(lab, spark, "lines", source, f"log lines, {name}")
    shutil.rmtree(folder)
