"""Records and their places, for people who look for them in a file."""

from __future__ import annotations

from airflow_provider_blockread.records.io.source import ByteSource

_SHOWN_BYTES = 120  # of a record
_COUNTED_BYTES = 16 * 2**20  # before a record, to find its line


def quoted(record: bytes) -> str:
    """Return a record as a message may quote it: its first bytes, in which nothing but ASCII stands for itself."""
    more = f" and {len(record) - _SHOWN_BYTES:,} bytes more" if len(record) > _SHOWN_BYTES else ""
    return f"{record[:_SHOWN_BYTES]!r}{more}"


def line_of(source: ByteSource, offset: int) -> int | None:
    """Return the number of the line, as an editor shows it, that holds a byte; None where it takes long to count.

    Args:
        source: the file; a compressed or transcoded one has no lines.
        offset: the byte.
    """
    if source.streamed or source.unit_bytes != 1 or offset > _COUNTED_BYTES:
        return None
    before = source.read(0, offset)
    return 1 + before.count(b"\n") + before.count(b"\r") - before.count(b"\r\n")
