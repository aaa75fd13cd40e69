"""Ways of reading a file in blocks, as tests do it: each block on its own, with the state that scans give."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterable
from typing import BinaryIO

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records import ByteSource, RecordFormat, read_records, scan_block
from airflow_provider_blockread.records.model import Chunk
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, first_start, walk_block
from tests.records.oracles import ShortReads
from tests.records.reference import UNREADABLE, Records


class CountingSource(ByteSource):
    """A source that counts the bytes that a format reads, including repeated ones."""

    bytes_read = 0

    def read(self, start: int, end: int) -> bytes:
        """Return the bytes, and count them."""
        data = super().read(start, end)
        self.bytes_read += len(data)
        return data


def read_block(
    fmt: RecordFormat, file: BinaryIO, start: int, end: int, *, state: int = 0, chunk: int = 2**20
) -> Records:
    """Return a block's records; one that is invalid in its encoding is `UNREADABLE`."""
    try:
        return list(read_records(file, start, end, fmt, entry_state=state, chunk_bytes=chunk))
    except RecordError:
        source, bound = open_source(file, fmt)
        if source.streamed:
            start, end = (0, sys.maxsize) if start == 0 else (0, 0)
    first = first_start(source, bound, start, state)
    chunks = walk_block(source, bound, first, end, WalkLimits(chunk_bytes=chunk))
    return [(c.offset + int(s), _content(bound, c, i)) for c in chunks for i, s in enumerate(c.starts)]


def _content(fmt: RecordFormat, chunk: Chunk, index: int) -> bytes:
    try:
        return fmt.content(chunk.record(index))
    except RecordError:
        return UNREADABLE


def read_blocks(
    fmt: RecordFormat, data: bytes, ranges: Iterable[tuple[int, int]], *, most: int = 2**20, chunk: int = 2**20
) -> Records:
    """Return the records of consecutive blocks, each read separately, with at most `most` bytes at a time."""
    records, state = [], fmt.initial_state
    for start, end in ranges:
        records += read_block(fmt, ShortReads(data, most), start, end, state=state, chunk=chunk)
        state = scan_block(ShortReads(data, most), start, end, fmt)(state)
    return records


def walk(fmt: RecordFormat, data: bytes, start: int, end: int, chunk: int = 2**20) -> tuple[int, int, list[Chunk]]:
    """Return a block's first record start, where its walk ended, and its chunks."""
    source, bound = open_source(io.BytesIO(data), fmt)
    state = scan_block(io.BytesIO(data), 0, start, fmt)(fmt.initial_state)
    first = first_start(source, bound, start, state)
    chunks = list(walk_block(source, bound, first, end, WalkLimits(chunk_bytes=chunk)))
    return first, chunks[-1].next_offset if chunks else first, chunks
