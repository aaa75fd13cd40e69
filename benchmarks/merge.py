"""Files merged into archives at `local[2]`: `cat` against a window."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from airflow_provider_blockread.options import ArchiveSink, merging
from airflow_provider_blockread.sinks.archive import read_index
from airflow_provider_blockread.storage.stores import Stores
from benchmarks.harness.data import write_small_files
from benchmarks.harness.lab import Lab, Windows
from benchmarks.harness.measure import Contender, Row, Times, alternate, limit_row, ratio_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TARGET = 128 * 2**20  # bytes of a merged file
_SMALL = 10_000  # bytes: of files that cost more to open than to read
_RATE = 10_000  # of these a second


def run(lab: Lab) -> Iterator[Row]:
    """Yield rows for small files, and for files whose bytes take longer than their opening."""
    with lab.spark(cores=2) as spark:
        for compression in ("none", "zstd"):
            yield from _merge(lab, spark, lab.files // 5, range(3000, 8000), compression)
        yield from _merge(lab, spark, lab.size // 300_000, range(250_000, 350_000), "none")


def _merge(
    lab: Lab, spark: SparkSession, count: int, sizes: range, compression: Literal["none", "zstd"]
) -> Iterator[Row]:
    folder = lab.folder("merge")
    source, theirs = folder / "source", folder / "theirs"
    total = write_small_files(source, count, sizes)
    names = sorted(map(str, source.rglob("*.log")))
    sink = ArchiveSink(str(folder / "ours" / "output"), file_bytes=_TARGET, compression=compression)
    ours = Windows(folder / "ours", source, spark=spark, options=merging(sink))

    def join() -> None:
        with theirs.open("wb") as out:
            subprocess.run(["/usr/bin/xargs", "-0", "cat"], input="\0".join(names).encode(), stdout=out, check=True)

    rival = Contender(prepare=lambda: theirs.unlink(missing_ok=True), run=join)
    reads: list[float] = []

    def merge() -> None:
        ours.run()
        reads.append(ours.seconds["read"])

    both = alternate([rival, Contender(prepare=ours.prepare, run=merge)], lab.rounds)
    _require_all(ours.output, count, total)
    size = f"{sizes.start // 1000} to {sizes.stop // 1000} KB"
    work = f"{count:,} files of {size} merged, {'plain' if compression == 'none' else compression}"
    mb = total / 1e6
    yield ratio_row(f"{work}, whole (`cat`)", both, (mb, "MB"), at_least=0.7 if compression == "none" else None)
    if sizes.stop <= _SMALL:
        alone = Times(seconds=reads[1:])
        yield limit_row(f"{work}, read step alone", alone, count / _RATE, rival=both[0].show(count, "files"))


def _require_all(output: Path, count: int, total: int) -> None:
    """Refuse what is not all files, each to its last byte."""
    stores = Stores()
    indexes = [read_index(stores, f"file://{path}") for path in output.iterdir() if not path.name.startswith(".")]
    held = sum(index.members.num_rows for index in indexes), sum(index.size for index in indexes)
    if held != (count, total):
        msg = f"{output} holds {held} files and bytes instead of {(count, total)}"
        raise RuntimeError(msg)
