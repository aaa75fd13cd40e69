"""Whether two files have the same content."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.stores import Stores

_CHUNK = 2**20


def same_content(stores: Stores, left: str, right: str) -> bool:
    """Return whether two files have the same bytes; they are read unless they are one file, or their sizes differ."""
    places = uris.local_path(stores.canonical(left)), uris.local_path(stores.canonical(right))
    if places[0] is not None and places[1] is not None and Path(places[0]).samefile(places[1]):
        return True
    if stores.stat(left).size != stores.stat(right).size:
        return False
    with stores.open_read(left) as one, stores.open_read(right) as other:
        while True:
            chunk = one.read(_CHUNK)
            if not chunk:
                return not other.read(1)
            if not _follows(chunk, other):
                return False


def _follows(chunk: bytes, other: BinaryIO) -> bool:
    rest = memoryview(chunk)
    while rest:
        found = other.read(len(rest))
        if not found or found != rest[: len(found)]:
            return False
        rest = rest[len(found) :]
    return True
