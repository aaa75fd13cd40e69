"""Taking escapes out of records: an escape goes, and what stands behind it stays."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from airflow_provider_blockread.records.model import Chunk, Decoded, Decoder, Offsets
from airflow_provider_blockread.records.text.delimited import occurrences


def unescape(record: bytes, escape: bytes) -> bytes:
    """Return a record without its escapes; an escape with nothing behind it stays."""
    mark = re.escape(escape)
    return re.sub(b"%b(%b|.)" % (mark, mark), rb"\1", record, flags=re.DOTALL)


class UnescapingDecoder:
    """Takes the escapes out of a chunk's records, and hands the chunk on."""

    def __init__(self, inner: Decoder, escape: bytes) -> None:
        """Take the decoder of unescaped records, and the escape."""
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
    # Only in the file's last record an escape may stand last and alone, with nothing to escape.
    gone = spots[(rank % 2 == 0) & (spots != chunk.ends[-1] - length)]
    kept = np.ones(len(chunk.buffer), np.bool_)
    for i in range(length):
        kept[gone + i] = False

    def moved(places: Offsets) -> Offsets:
        return places - length * np.searchsorted(gone, places)

    return replace(
        chunk,
        buffer=np.frombuffer(chunk.buffer, np.uint8)[kept].tobytes(),
        starts=moved(chunk.starts),
        begins=moved(chunk.begins),
        ends=moved(chunk.ends),
        nexts=moved(chunk.nexts),
    )
