"""fsspec's memory, a store of one process: for tests and examples."""

from __future__ import annotations

import io
from typing import BinaryIO

from airflow_provider_blockread.storage.backends.shared.base import FsspecStore


class MemoryStore(FsspecStore):
    """Files in the memory of this process."""

    def open_read(self, path: str) -> BinaryIO:
        """Return a file with its own position, since fsspec's handles of one file share a position."""
        return io.BytesIO(self.system.cat_file(path))
