"""The block size of the store that holds a file, where it has one of its own."""

from __future__ import annotations

from airflow_provider_blockread.blocks.sizing import STORE_BLOCK
from airflow_provider_blockread.errors import FileMissingError
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.edge import translated
from airflow_provider_blockread.storage.stores import Stores

_HDFS_BLOCK = 128 * 2**20  # Hadoop's own default
_HDFS = ("hdfs", "arrow_hdfs", "webhdfs")


class StoreBlocks:
    """Tells bytes; each HDFS is asked once, about the first file that comes up, and any other store has 64 MiB."""

    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._known: dict[tuple[str, str], int] = {}

    def __call__(self, path: str) -> int:
        """Return the bytes of a block of the store that holds this file."""
        scheme = uris.scheme_of(path)
        if scheme not in _HDFS:
            return STORE_BLOCK
        place = (scheme, uris.authority_of(path))
        if place not in self._known:
            try:
                self._known[place] = self._ask(path)
            except FileMissingError:  # its read will say so; the next one is asked
                return _HDFS_BLOCK
        return self._known[place]

    def _ask(self, path: str) -> int:
        store, inside = self._stores.remote(path)
        with translated(path):
            told = store.info(inside).get("blockSize")
        return told if isinstance(told, int) and told > 0 else _HDFS_BLOCK
