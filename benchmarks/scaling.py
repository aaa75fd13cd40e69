"""Windows of more cores, more groups, other blocks and more files, each against its floor alone.

The groups of a window are read one after the other in one session, so that no start of an application is measured.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_blockread.options import Lines, Splitting, WholeFile
from benchmarks.harness.data import log_line, write_lines, write_small_files
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, alternate, floor_row
from benchmarks.harness.peers import floor

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CORES = (1, 2)
_GROUPS = (1, 2, 4, 8)
_BLOCKS = ("64KiB", "1MiB", "16MiB", "256MiB")
_FILES = (0.1, 1, 10)  # times those of the lab


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for lines on one core and on all, in some groups, and in blocks of some sizes; and for small files."""
    folder = lab.folder("scaling")
    source = folder / "lines" / "requests.log"
    size = write_lines(source, lab.size, log_line)
    what, amount = f"{size / 1e9:.2f} GB log lines", (size / 1e6, "MB")
    for cores in _CORES:
        with lab.spark(cores=cores) as spark:
            ours = Windows(folder / "ours", source, Lines(), spark)
            (times,) = alternate([ours], lab.rounds)
            least = floor("lines", source, ours.output, folder / "floor", lab.rounds, cores)
            yield floor_row(f"{what}, {cores} cores" if cores > 1 else f"{what}, 1 core", times, amount, least)
            if cores != _CORES[-1]:
                continue
            splits = {
                **{f"groups: {many}": Splitting(group_bytes=-(-size // many), max_groups=many) for many in _GROUPS},
                **{f"blocks of {block}": Splitting(block_size=block, max_groups=1) for block in _BLOCKS},
            }
            windows = [Windows(folder / f"ours-{n}", source, Lines(), spark, s) for n, s in enumerate(splits.values())]
            for name, of_it in zip(splits, alternate(windows, lab.rounds), strict=True):
                yield floor_row(f"{what}, {name}", of_it, amount, least)
            for times_of_them in _FILES:
                yield _small(lab, spark, folder / "small", int(lab.files * times_of_them))
    shutil.rmtree(folder)


def _small(lab: Lab, spark: SparkSession, folder: Path, count: int) -> Row:
    source = folder / "source"
    write_small_files(source, count, range(3000, 8000))
    ours = Windows(folder / "ours", source, WholeFile(), spark)
    (times,) = alternate([ours], lab.rounds)
    least = floor("whole_files", source, ours.output, folder / "floor", lab.rounds)
    shutil.rmtree(folder)
    return floor_row(f"{count:,} files of 3 to 8 KB, each a record", times, (count, "files"), least)
