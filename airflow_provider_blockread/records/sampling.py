"""The first records of a file, from which the types of its columns are inferred."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Chunk
from airflow_provider_blockread.records.text.encodings import EncodedFormat
from airflow_provider_blockread.records.walking import WalkLimits, walk_block


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The first records of a file, in UTF-8, and its header."""

    header: tuple[str, ...] | None
    chunks: tuple[Chunk, ...]
    source: ByteSource  # for messages and limits; closed

    @property
    def is_blank(self) -> bool:
        """Whether there is no header and only blank rows, so that nothing is known of the columns."""
        return self.header is None and all((chunk.begins == chunk.ends).all() for chunk in self.chunks)


def sample_file(source: ByteSource, fmt: RecordFormat, size: int) -> Sample:
    """Return the records that start in the first `size` bytes of a file's data; `fmt` is bound to the file.

    Raises:
        RecordError: when a record is longer than `max_record_bytes`.
    """
    limits = WalkLimits(max_record_bytes=source.max_record_bytes)
    chunks = walk_block(source, fmt, source.data_offset, source.data_offset + size, limits)
    if isinstance(fmt, EncodedFormat):
        chunks, fmt = map(fmt.in_utf8, chunks), fmt.inner
    found = tuple(chunk for chunk in chunks if len(chunk.ends))
    return Sample(header=getattr(fmt, "header", None), chunks=found, source=source)
