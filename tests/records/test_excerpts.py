"""Records and line numbers as messages show them."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.records.excerpts import excerpt, line_number
from airflow_provider_blockread.records.io.source import ByteSource


@given(st.binary(max_size=300))
def test_a_quoted_record_is_short_and_harmless(record: bytes) -> None:
    """Whatever it contains, it is one printable line that says how much is missing."""
    text = excerpt(record)

    assert text.isascii()
    assert text.isprintable()
    shown, _, more = text.partition(" and ") if len(record) > 120 else (text, "", "")
    assert record.startswith(eval(shown))  # noqa: S307 - a literal
    assert more == (f"{len(record) - 120:,} bytes more" if len(record) > 120 else "")


@given(st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r"])), st.integers(0, 20))
def test_lines_are_counted_as_editors_do(parts: list[bytes], at: int) -> None:
    """LF, CR and CRLF end a line."""
    data = b"".join(parts)
    before = data[:at]
    if before.endswith(b"\r") and data[at : at + 1] == b"\n":
        before = before[:-1]  # no record begins inside of CRLF
        at -= 1
    assert line_number(ByteSource(io.BytesIO(data)), at) == len((before + b"x").splitlines())


def test_lines_are_counted_where_that_is_cheap() -> None:
    """Not far into a file, and not in a compressed one."""

    class Wide(ByteSource):
        unit_bytes = 2

    class Streamed(ByteSource):
        streamed = True

    long = ByteSource(io.BytesIO(), size=2**40)
    assert line_number(long, 2**25) is None
    assert line_number(Wide(io.BytesIO(), size=2**40), 2**24) is None
    assert line_number(Streamed(io.BytesIO(b"a")), 0) is None
