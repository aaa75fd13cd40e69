"""Publishing a window's staged files into tables, against what the table's own tools take for the same rows."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Row
from benchmarks.tables import files, postgres


def run(lab: Lab) -> Iterator[Row]:
    """Yield the rows of each table."""
    yield from files.run(lab)
    yield from postgres.run(lab)
