"""Reading records one by one, for tests, small files and custom formats. Spark jobs decode into Arrow instead."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import BinaryIO

from airflow_provider_blockread.errors import RecordError, SourceError
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.records.format import PARQUET, RecordFormat, codec_of
from airflow_provider_blockread.records.io.codecs import codec_of_head
from airflow_provider_blockread.records.io.foreign import HEAD_BYTES, foreign_head, foreign_name, is_text
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.io.streaming import StreamSource
from airflow_provider_blockread.records.members.format import MembersFormat
from airflow_provider_blockread.records.members.rows import RowSource
from airflow_provider_blockread.records.model import Chunk
from airflow_provider_blockread.records.statemap import StateMap
from airflow_provider_blockread.records.text.format import TextFormat
from airflow_provider_blockread.records.walking import CHUNK_BYTES, WalkLimits, first_start, walk_block


def open_source(
    file: BinaryIO, fmt: RecordFormat, *, name: str = "", size: int | None = None, limits: Policies = Policies()
) -> tuple[ByteSource, RecordFormat]:
    """Return the file as exact reads, decompressed, and the format as it applies to it.

    The codec follows from the format's `compression`; `"auto"` looks at the suffix of the name.

    Args:
        file: a seekable binary file.
        fmt: the record format.
        name: the file's name; by default that of the file object.
        size: its bytes, if they are known.
        limits: what to refuse.
    """
    name = name or str(getattr(file, "name", "input"))
    source = open_bytes(file, codec_of(fmt, name), name=name, size=size, limits=limits)
    return source, bind(source, fmt)


def open_bytes(
    file: BinaryIO, codec: str | None, *, name: str, size: int | None = None, limits: Policies = Policies()
) -> ByteSource:
    """Return the file as exact reads, decompressed if it has a codec; see `open_source`."""
    if codec == PARQUET:
        source: ByteSource = RowSource(file, size=size, name=name, max_record_bytes=limits.max_record_bytes)
    elif codec is None:
        source = ByteSource(file, size=size, name=name, max_record_bytes=limits.max_record_bytes)
    else:
        source = StreamSource(file, codec, size=size, name=name, limits=limits)
    source.max_columns = limits.max_columns
    return source


def bind(source: ByteSource, fmt: RecordFormat) -> RecordFormat:
    """Return the format as it applies to one file, and set the source's data offset.

    Raises:
        SourceError: when a file is no text, but compressed data without its codec's suffix, or of another format.
    """
    if isinstance(fmt, TextFormat) and fmt.encoding != "binary" and fmt.compression == "auto":
        _require_text(source, fmt.encoding)
    bound = fmt.for_file(source)
    source.data_offset = bound.data_offset(source)
    return bound


def _require_text(source: ByteSource, encoding: str) -> None:
    head = source.read(0, HEAD_BYTES)
    if is_text(head, encoding):
        return
    codec = codec_of_head(head)
    if codec is not None and not source.streamed:
        msg = (
            f"{source.name} starts with {codec} data, but its name does not say so; set compression={codec!r}, or"
            " compression='none' to read it as it is"
        )
        raise SourceError(msg, source.name)
    twice = codec and f"doubly compressed {codec}"
    foreign = foreign_name(source.name) or foreign_head(head) or twice
    if foreign is not None:
        msg = (
            f"{source.name} is {foreign} data, not text; keep such files out of the feed (FileSource(exclude=...),"
            " and `blockread windows exclude` for this one), or set compression='none' to read it as it is"
        )
        raise SourceError(msg, source.name)


def chunks_of(source: ByteSource, fmt: RecordFormat, first: int, end: int, limits: WalkLimits) -> Iterator[Chunk]:
    """Yield the records that start in `[first, end)`, in chunks; `first` is a record start. See `walk_block`."""
    if isinstance(fmt, MembersFormat):
        return fmt.chunks(source, limits.max_record_bytes)
    return walk_block(source, fmt, first, end, limits)


def read_records(
    file: BinaryIO, start: int, end: int, fmt: RecordFormat, *, entry_state: int = 0, chunk_bytes: int = CHUNK_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yield (byte offset, content) of each record whose first byte is in `[start, end)`, in order.

    Content is unescaped and UTF-8 where the format says so. All records of a compressed file belong to the block that
    starts at 0; their offsets count decoded bytes.

    Args:
        file: a seekable binary file; its reads may be short.
        start: the block's first byte.
        end: the byte after the block; the last record may reach beyond it.
        fmt: the record format.
        entry_state: the format's state at byte `start`; only formats that need a scan use it.
        chunk_bytes: how much is read at once.

    Raises:
        RecordError: when the file ends inside a record, or a record is too long.
        FileChangedError: when the file is shorter than it was.
        SourceError: when a compressed file is truncated, corrupt, or followed by other data.
    """
    source, fmt = open_source(file, fmt)
    if source.streamed:
        if start > 0:
            return
        end = sys.maxsize
    first = first_start(source, fmt, start, entry_state)
    for chunk in chunks_of(source, fmt, first, end, WalkLimits(chunk_bytes=chunk_bytes)):
        for index, offset in enumerate(chunk.starts.tolist()):
            place = chunk.offset + offset
            try:
                content = fmt.content(chunk.record(index))
            except RecordError as error:
                msg = f"{source.name}: the {fmt.name} record that starts at byte {place}: {error}"
                raise RecordError(msg) from error
            yield place, content


def scan_block(file: BinaryIO, start: int, end: int, fmt: RecordFormat) -> StateMap:
    """Return the state map of the bytes `[start, end)`; bytes before the data offset have no effect."""
    source, fmt = open_source(file, fmt)
    return StateMap.identity() if source.streamed else scan_source(source, start, end, fmt)


def scan_source(source: ByteSource, start: int, end: int, fmt: RecordFormat) -> StateMap:
    """Return the state map of the bytes `[start, end)` of a source that is open and not a stream."""
    start, end = max(start, source.data_offset), min(end, source.size)
    return fmt.scan(source, min(start, end), end)
