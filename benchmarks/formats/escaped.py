"""Lines with escaped newlines against plain lines of the same size, both as windows at `local[2]`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace

from airflow_provider_blockread.options import Escaped, Lines
from benchmarks.harness.data import escaped_line, log_line, write_lines
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, alternate, ratio_row

_TARGET = 0.8


def run(lab: Lab) -> Iterator[Row]:
    """Yield one row; the rival is blockread itself on lines without escapes."""
    folder = lab.folder("escaped")
    size = lab.size // 2
    sources = [folder / name / "requests.log" for name in ("plain", "escaped")]
    for source, line in zip(sources, (log_line, escaped_line), strict=True):
        write_lines(source, size, line)
    with lab.spark(cores=2) as spark:
        plain = Windows(folder / "ours_plain", sources[0], Lines(), spark)
        escaped = Windows(folder / "ours_escaped", sources[1], Escaped(), spark)
        both = alternate((plain, escaped), lab.rounds)
    shutil.rmtree(folder)
    row = ratio_row(f"{size / 1e9:.2f} GB escaped lines", both, (size / 1e6, "MB"), at_least=_TARGET)
    yield replace(row, rival=f"blockread, plain lines: {row.rival}")
