"""Excerpts of records and their line numbers, for error messages."""

from __future__ import annotations

from airflow_provider_blockread.records.io.source import ByteSource

_SHOWN_BYTES = 120  # of a record
_COUNTED_BYTES = 16 * 2**20  # before a record, to find its line


def excerpt(record: bytes) -> str:
    """Return the first bytes of a record, everything but printable ASCII escaped."""
    more = f" and {len(record) - _SHOWN_BYTES:,} bytes more" if len(record) > _SHOWN_BYTES else ""
    return f"{record[:_SHOWN_BYTES]!r}{more}"


def line_number(source: ByteSource, offset: int) -> int | None:
    """Return the number of the line that holds a byte, as an editor shows it, or None where counting takes too long.

    Args:
        source: the file, narrowed if its code units are not ASCII's; a compressed one has no line numbers.
        offset: the byte's offset in the source.
    """
    if source.streamed or offset * source.unit_bytes > _COUNTED_BYTES:
        return None
    before = source.read(0, offset)
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
