"""The memory of the Python worker that reads one block, of 1 GiB and of a quarter of it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil

from airflow_provider_blockread.options import Lines, Splitting
from benchmarks.harness.data import log_line, write_lines
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Row, peak_memory

_MIB = 2**20
_SPREAD = 1.10  # more than this is growth


def run(lab: Lab) -> Iterator[Row]:
    """Yield a row of peaks; each size is read by separate workers, as a single block."""
    folder = lab.folder("memory")
    sizes = (lab.size // 4, lab.size)
    peaks = [_peak(lab, folder, size) for size in sizes]
    shutil.rmtree(folder)
    texts = [f"{peak / _MIB:.0f} MiB at {size / _MIB:.0f} MiB" for peak, size in zip(peaks, sizes, strict=True)]
    growth = peaks[1] / peaks[0]
    yield Row(
        work="peak memory of the worker that reads one block",
        rival="",
        ours=", ".join(texts),
        ratio=f"{growth:.2f} x",
        target=f"< {_SPREAD:.2f} x",
        met=growth < _SPREAD,
    )


def _peak(lab: Lab, folder: Path, size: int) -> int:
    source = folder / "source" / "requests.log"
    write_lines(source, size, log_line)
    with lab.spark(cores=1) as spark:
        windows = Windows(folder / "ours", source, Lines(), spark, Splitting(block_size=size, max_groups=1))
        windows.prepare()
        with peak_memory(_python_processes) as peaks:
            windows.run()
    if windows.published is None or windows.published.blocks != 1:
        msg = f"one block was expected, not {windows.published}"
        raise ValueError(msg)
    return max(peaks.values())


def _python_processes() -> Iterator[psutil.Process]:
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "python" in process.name():
                yield process
