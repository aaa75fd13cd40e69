"""Compares the contents of two files."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import cast

from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.stores import Stores


def same_content(stores: Stores, left: str, right: str) -> bool:
    """Return whether two files have the same bytes; they are read, unless they are the same file or differ in size."""
    places = uris.local_path(stores.canonical(left)), uris.local_path(stores.canonical(right))
    if places[0] is not None and places[1] is not None and Path(places[0]).samefile(places[1]):
        return True
    return stores.stat(left).size == stores.stat(right).size and _digest(stores, left) == _digest(stores, right)


def _digest(stores: Stores, uri: str) -> bytes:
    with stores.open_read(uri) as file:
        return hashlib.file_digest(cast("io.RawIOBase", file), "sha256").digest()
