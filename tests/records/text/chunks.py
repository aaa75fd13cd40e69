"""Texts in many encodings, and the chunks of their records."""

from __future__ import annotations

import io

from airflow_provider_blockread.records import RecordFormat
from airflow_provider_blockread.records.model import Chunk
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, walk_block

MARKS = {
    "utf-8": b"\xef\xbb\xbf",
    "utf-16-le": b"\xff\xfe",
    "utf-16-be": b"\xfe\xff",
    "utf-32-le": b"\xff\xfe\x00\x00",
    "utf-32-be": b"\x00\x00\xfe\xff",
}


def chunks_of(data: bytes, fmt: RecordFormat, chunk_bytes: int = 2**20) -> list[Chunk]:
    """Return the records of a file, in chunks."""
    return list(walk_block(*open_source(io.BytesIO(data), fmt), *whole(data, fmt), WalkLimits(chunk_bytes=chunk_bytes)))


def whole(data: bytes, fmt: RecordFormat) -> tuple[int, int]:
    """Return where the records of a file begin and end."""
    return open_source(io.BytesIO(data), fmt)[0].data_offset, len(data)
