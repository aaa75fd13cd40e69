"""Places for sinks in tests, which are gone afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import fsspec

from tests.sinks.kinds import KINDS, Bench


@contextmanager
def opened(kind: str, store: str = "memory") -> Iterator[Bench]:
    """Give a sink whose place is not made yet."""
    fsspec.filesystem("memory").store.clear()
    with TemporaryDirectory() as folder:
        on_disk = store == "disk" or KINDS[kind].table is not None
        yield Bench(kind, f"{folder}/out" if on_disk else "memory://out/")
    fsspec.filesystem("memory").store.clear()
