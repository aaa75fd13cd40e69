"""Walking a block: its records in chunks, from its first record start to past its end, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from airflow_provider_blockread.errors import BlockReadError, RecordError
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.io.source import ByteSource, too_long
from airflow_provider_blockread.records.model import Chunk, Walk

CHUNK_BYTES = 2**20  # fits the processor's cache
_MOST_RECORDS = 2**17  # of a chunk: bounds the memory for the offsets of tiny records
_TERMINATOR_ROOM = 64 * 2**10  # so that a record of the largest size is read together with its terminator


def first_start(source: ByteSource, fmt: RecordFormat, offset: int, state: int) -> int:
    """Return the first record start at or after `offset`, between the data offset and the file's end."""
    if offset <= source.data_offset:
        return min(source.data_offset, source.size)
    if offset >= source.size:
        return source.size
    with naming_place(source, fmt, offset):
        return fmt.cut(source, offset, state)


@contextmanager
def naming_place(source: ByteSource, fmt: RecordFormat, offset: int) -> Iterator[None]:
    """Raise what a format fails with, as one of a user may with anything, as an error that names the file and byte.

    Raises:
        RecordError: in place of any other error but those of the store.
    """
    try:
        yield
    except (BlockReadError, OSError, MemoryError):
        raise
    except Exception as error:
        what = f"format {fmt.name} fails at byte {offset * source.unit_bytes} ({type(error).__name__}: {error})"
        msg = f"{source.name}: {what}; correct the file, or the class of the format"
        raise RecordError(msg) from error


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkLimits:
    """Bytes read at once, and the size limit of a record in bytes."""

    chunk_bytes: int = CHUNK_BYTES
    max_record_bytes: int = Policies.max_record_bytes


def walk_block(
    source: ByteSource, fmt: RecordFormat, first: int, end: int, limits: WalkLimits = WalkLimits()
) -> Iterator[Chunk]:
    """Yield the records that start in `[first, end)`, in chunks; `first` is a record start.

    A record that starts before `end` is read to its own end, however far after `end` that is.

    Raises:
        RecordError: when a record is longer than `max_record_bytes`, or the file ends inside a record that needs a
            terminator; the message names the offset.
    """
    position = first
    if not source.size and fmt.reads_empty:
        nothing = np.zeros(1, np.int64)
        yield Chunk(b"", 0, nothing, nothing, nothing, nothing, 0, 0, 0)
    while position < min(end, source.size):
        for buffer, walk in _split_walk(*_read_records(source, fmt, position, limits)):
            if position >= end:
                return
            chunk = _chunk(buffer, walk, position, end)
            _check_lengths(chunk, source, fmt, limits.max_record_bytes)
            position = chunk.next_offset
            yield chunk


def join_chunks(chunks: Iterable[Chunk], size: int) -> Iterator[Chunk]:
    """Yield consecutive chunks of a file joined to `size` bytes or more; the last one may be smaller."""
    group: list[Chunk] = []
    for chunk in chunks:
        group.append(chunk)
        if chunk.next_offset - group[0].offset >= size:
            yield _join(group)
            group = []
    if group:
        yield _join(group)


def _join(chunks: list[Chunk]) -> Chunk:
    first = chunks[0]
    if len(chunks) == 1:
        return first
    shifted = [
        [offsets + (chunk.offset - first.offset) for offsets in (chunk.starts, chunk.begins, chunk.ends, chunk.nexts)]
        for chunk in chunks
    ]
    starts, begins, ends, nexts = map(np.concatenate, zip(*shifted, strict=True))
    return Chunk(
        b"".join([chunk.buffer[: chunk.next_offset - chunk.offset] for chunk in chunks]),
        first.offset,
        starts,
        begins,
        ends,
        nexts,
        chunks[-1].next_offset,
        sum(chunk.skipped_records for chunk in chunks),
        sum(chunk.skipped_bytes for chunk in chunks),
    )


def _read_records(source: ByteSource, fmt: RecordFormat, position: int, limits: WalkLimits) -> tuple[bytes, Walk]:
    """Return enough bytes from a record start for a record to end in them, and the records in them."""
    want, most = limits.chunk_bytes, limits.max_record_bytes + max(limits.chunk_bytes, _TERMINATOR_ROOM)
    while True:
        buffer = source.read(position, position + want)
        final = position + len(buffer) >= source.size
        with naming_place(source, fmt, position):
            try:
                walk = fmt.walk(buffer, final=final)
            except RecordError as error:
                msg = f"{source.name}: the {fmt.name} record {_where(source, fmt, buffer, position)}: {error}"
                raise RecordError(msg) from error
        if len(walk.nexts):
            if not 0 < walk.nexts[0] <= walk.nexts[-1] <= len(buffer):
                start, found = position * source.unit_bytes, f"{walk.nexts[0]} and {walk.nexts[-1]} of {len(buffer)}"
                msg = (
                    f"{source.name}: format {fmt.name} walks from byte {start} to records whose first and last end at"
                    f" {found} bytes; correct the class of the format"
                )
                raise RecordError(msg)
            return buffer, walk
        if final:
            where = _where(source, fmt, buffer, position)
            msg = f"{source.name} ends inside the {fmt.name} record {where}: {fmt.unfinished}"
            raise RecordError(msg)
        if want >= most:
            raise too_long(source, _where(source, fmt, buffer, position), limits.max_record_bytes, fmt.too_long)
        del buffer  # so that its bytes are not in memory twice during the next read
        want = want * 2 if want * 4 <= most else most


def _split_walk(buffer: bytes, walk: Walk) -> Iterator[tuple[bytes, Walk]]:
    """Yield the records at most `_MOST_RECORDS` at a time, with their bytes."""
    begin = 0
    for low in range(0, len(walk.nexts), _MOST_RECORDS):
        some = walk[low : low + _MOST_RECORDS]
        end = int(some.nexts[-1])
        yield (buffer[begin:end], some.shifted(-begin)) if len(some.nexts) < len(walk.nexts) else (buffer, walk)
        begin = end


def _where(source: ByteSource, fmt: RecordFormat, buffer: bytes, position: int) -> str:
    start = position * source.unit_bytes
    return f"that starts at byte {start}{fmt.explain(buffer, start)}"


def _chunk(buffer: bytes, walk: Walk, position: int, end: int) -> Chunk:
    starts, nexts = walk.starts, walk.nexts
    count = int(np.searchsorted(starts, end - position)) if end - position <= starts[-1] else len(starts)
    starts, ends, nexts = starts[:count], walk.ends[:count], nexts[:count]
    begins = starts if walk.begins is None else walk.begins[:count]
    next_offset = position + int(nexts[-1])
    skipped_records = skipped_bytes = 0
    if walk.skipped is not None and walk.skipped[:count].any():
        skipped = walk.skipped[:count]
        skipped_records, skipped_bytes = int(skipped.sum()), int((nexts - starts)[skipped].sum())
        kept = ~skipped
        starts, begins, ends, nexts = starts[kept], begins[kept], ends[kept], nexts[kept]
    return Chunk(buffer, position, starts, begins, ends, nexts, next_offset, skipped_records, skipped_bytes)


def _check_lengths(chunk: Chunk, source: ByteSource, fmt: RecordFormat, limit: int) -> None:
    if len(chunk.buffer) <= limit or not len(chunk.ends):
        return
    long = np.flatnonzero(chunk.ends - chunk.begins > limit)
    if len(long):
        start = (chunk.offset + int(chunk.starts[long[0]])) * source.unit_bytes
        raise too_long(source, f"that starts at byte {start}", limit, fmt.too_long)
