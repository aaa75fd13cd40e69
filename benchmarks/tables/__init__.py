"""Writing rows, and publishing a window's files, against what the libraries of the same formats take for them."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Row
from benchmarks.tables import directories, files, postgres


def run(lab: Lab) -> Iterator[Row]:
    """Yield the rows of directories and of each table."""
    yield from directories.run(lab)
    yield from files.run(lab)
    yield from postgres.run(lab)
