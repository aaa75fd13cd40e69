"""The cost of a window in addition to Spark: its plan and its commit."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from airflow_provider_blockread.options import Lines
from benchmarks.harness.data import log_line, write_lines, write_small_files
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, Times, limit_row

_LIMIT = 1.0  # seconds
_SMALL_FILES = 3000


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row for 16 blocks of large files, and one for 3000 small files."""
    folder = lab.folder("window")
    large, small = folder / "large", folder / "small"
    size = max(lab.size // 4, 16)
    for number in range(4):
        write_lines(large / f"{number}.log", size, log_line)
    write_small_files(small, _SMALL_FILES, range(3000, 8000))
    with lab.spark(cores=2) as spark:
        for source, block_size, blocks in ((large, -(-size // 4), 16), (small, 64 * 2**20, _SMALL_FILES)):
            windows = Windows(folder / "ours", source, Lines(), spark, block_size=block_size)
            yield _row(lab, windows, source, blocks)
    shutil.rmtree(folder)


def _row(lab: Lab, windows: Windows, source: Path, blocks: int) -> Row:
    costs = Times()
    for _ in range(lab.rounds):
        windows.prepare()
        windows.run()
        costs.seconds.append(windows.seconds["plan"] + windows.seconds["commit"])
    published = windows.published
    if published is None or published.blocks != blocks:
        msg = f"a window of {blocks} blocks was expected, not {published}"
        raise ValueError(msg)
    return limit_row(f"plan and commit a window: {blocks:,} blocks of {source.name} files", costs, _LIMIT)
