"""The fixed cost of a window: its plan and its commit, one of a small file, and that from the command line."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from airflow_provider_blockread.options import Lines, Splitting
from benchmarks.harness.data import log_line, write_lines, write_small_files
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, Times, alternate, limit_row

_LIMIT, _COMMAND_LIMIT = 1.0, 5.0  # seconds
_SMALL_FILES = 3000


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for plan and commit of 16 blocks of large files and of 3000 small files, and for one small file."""
    folder = lab.folder("window")
    large, small = folder / "large", folder / "small"
    size = max(lab.size // 4, 16)
    for number in range(4):
        write_lines(large / f"{number}.log", size, log_line)
    write_small_files(small, _SMALL_FILES, range(3000, 8000))
    with lab.spark(cores=2) as spark:
        for source, block_size, blocks in ((large, -(-size // 4), 16), (small, 64 * 2**20, _SMALL_FILES)):
            splitting = Splitting(block_size=block_size, max_groups=1)
            windows = Windows(folder / "ours", source, Lines(), spark, splitting)
            yield _row(lab, windows, source, blocks)
        one = folder / "one"
        write_small_files(one, 1, range(3000, 8000))
        (whole,) = alternate([Windows(folder / "ours", one, Lines(), spark)], lab.rounds)
    yield limit_row("a window of one small file, warm session", whole, _LIMIT)
    yield limit_row("blockread run of one small file, with the JVM's start", _commands(lab, one), _COMMAND_LIMIT)
    shutil.rmtree(folder)


def _commands(lab: Lab, source: Path) -> Times:
    times, folder = Times(), lab.folder("command")
    for number in range(lab.rounds):
        place = folder / str(number)
        place.mkdir()
        options = ("--state", f"sqlite:///{place}/ledger.db", "--output", str(place / "out"), "--format", "lines")
        command = [str(Path(sys.executable).with_name("blockread")), "run", str(source), *options]
        command += ["--master", "local[2]", "--json"]
        times.add(partial(subprocess.run, command, check=True, capture_output=True))
    return times


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
