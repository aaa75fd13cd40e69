"""Files with a few bad rows, which are dropped, against the same files without any."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import FormatOption, Policies
from benchmarks.harness.data import write_lines
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, alternate, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Line = Callable[[int, random.Random], str]
Spoil = Callable[[str], str]

_TARGETS = {1000: 0.85, 100: 0.6}  # of the speed of clean rows, by how many rows there are for each bad one
_POLICIES = Policies(on_bad_record="drop")


def bad_rows(lab: Lab, spark: SparkSession, option: FormatOption, line: Line, spoilt: Sequence[Spoil]) -> Iterator[Row]:
    """Yield a row for one bad row in a thousand and for one in a hundred; the rival is blockread on clean ones."""
    folder, size = lab.folder("bad_rows"), lab.size // 4
    clean = folder / "clean"
    write_lines(clean, size, line)
    for every, at_least in _TARGETS.items():
        source = folder / f"bad-{every}"
        write_lines(source, size, _spoiling(line, spoilt, every))
        windows = [
            Windows(folder / f"{file.name}-windows", file, option, spark, policies=_POLICIES)
            for file in (clean, source)
        ]
        both = alternate(windows, lab.rounds)
        work = f"{size / 1e9:.2f} GB {option.kind}, one in {every} bad"
        row = ratio_row(work, both, (size / 1e6, "MB"), at_least=at_least)
        yield replace(row, rival=f"blockread, clean: {row.rival}")
    shutil.rmtree(folder)


def _spoiling(line: Line, spoilt: Sequence[Spoil], every: int) -> Line:
    def some_bad(number: int, chance: random.Random) -> str:
        whole = line(number, chance)
        return whole if chance.randrange(every) else chance.choice(spoilt)(whole)

    return some_bad
