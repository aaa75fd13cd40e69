"""Removing escapes from records: the escape is dropped, and the byte or escape after it is kept."""

from __future__ import annotations

import re

import numpy as np

from airflow_provider_blockread.records.model import Chunk, Decoded, Decoder, Offsets
from airflow_provider_blockread.records.text.delimited import occurrences


def unescape(record: bytes, escape: bytes) -> bytes:
    """Return a record without its escapes; an escape at its end is kept."""
    mark = re.escape(escape)
    return re.sub(b"%b(%b|.)" % (mark, mark), rb"\1", record, flags=re.DOTALL)


class UnescapingDecoder:
    """Removes the escapes from a chunk's records for another decoder."""

    def __init__(self, inner: Decoder, escape: bytes) -> None:
        self._inner, self._escape = inner, escape
        self.schema = inner.schema

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the unescaped records as rows."""
        if not len(chunk.ends) or self._escape not in chunk.buffer:
            return self._inner.decode(chunk)
        return self._inner.decode(_unescaped(chunk, self._escape))


def _unescaped(chunk: Chunk, escape: bytes) -> Chunk:
    length = len(escape)
    spots = occurrences(chunk.buffer, escape)
    rank = np.arange(len(spots))
    begins = np.append(True, np.diff(spots) != length)[: len(spots)]
    rank -= np.maximum.accumulate(np.where(begins, rank, 0))
    # Only the file's last record may end with an escape that escapes nothing.
    gone = spots[(rank % 2 == 0) & (spots != chunk.ends[-1] - length)]
    kept = np.ones(len(chunk.buffer), np.bool_)
    for i in range(length):
        kept[gone + i] = False

    def shifted(places: Offsets) -> Offsets:
        return places - length * np.searchsorted(gone, places)

    return chunk.mapped(np.frombuffer(chunk.buffer, np.uint8)[kept].tobytes(), shifted)
