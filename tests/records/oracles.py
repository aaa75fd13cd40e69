"""What the records of a file are, said once more: byte by byte, from the definitions, sharing no code with the package.

Each oracle takes a whole file and returns (offset, record) pairs. `FORMATS` pairs every format with its oracle and with
the fragments that test data is made of.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import strategies as st
from quoted_lines import QuotedLines

from airflow_provider_blockread.records import RecordFormat, record_format

Records = list[tuple[int, bytes]]
BOM = b"\xef\xbb\xbf"


def universal_lines(data: bytes, start: int) -> Records:
    """Return the pieces between LF, CR and CRLF."""
    records, begin = [], start
    for end in re.finditer(rb"\r\n|\r|\n", data[start:]):
        records.append((begin, data[begin : start + end.start()]))
        begin = start + end.end()
    return [*records, (begin, data[begin:])] if begin < len(data) else records


def split_by(delimiter: bytes) -> Callable[[bytes, int], Records]:
    """Return the oracle of records ended by a byte string: what `bytes.split` gives."""

    def oracle(data: bytes, start: int) -> Records:
        pieces, records = data[start:].split(delimiter), []
        for piece in pieces:
            records.append((start, piece))
            start += len(piece) + len(delimiter)
        return records if pieces[-1] else records[:-1]

    return oracle


def json_lines(data: bytes, start: int) -> Records:
    """Return the lines that are not blank."""
    return [pair for pair in split_by(b"\n")(data, start) if pair[1].strip(b" \t\r")]


def fixed(length: int) -> Callable[[bytes, int], Records]:
    """Return the oracle of records of one length, the last one perhaps shorter."""
    return lambda data, start: [(i, data[i : i + length]) for i in range(start, len(data), length)]


def whole_file(data: bytes, start: int) -> Records:
    """Return the file."""
    return [(start, data)] if data else []


def quoted_lines(data: bytes, start: int) -> Records:
    """Return the pieces between newlines that an even number of quotes precedes."""
    records, begin, inside = [], start, False
    for place in range(start, len(data)):
        byte = data[place : place + 1]
        inside ^= byte == b'"'
        if byte == b"\n" and not inside:
            records.append((begin, data[begin:place]))
            begin = place + 1
    return [*records, (begin, data[begin:])] if begin < len(data) else records


@dataclass(frozen=True, kw_only=True)
class Case:
    """A format, its oracle, and what its test data is made of."""

    id: str
    fmt: RecordFormat
    oracle: Callable[[bytes, int], Records]
    special: tuple[bytes, ...]
    text: bool = True  # skips a byte order mark

    def data_offset(self, data: bytes) -> int:
        """Return where the first record may start."""
        return 3 if self.text and data.startswith(BOM) else 0

    def records(self, data: bytes) -> Records:
        """Return the records of a file."""
        return self.oracle(data, self.data_offset(data))

    def files(self, *, pieces: int = 12) -> st.SearchStrategy[bytes]:
        """Return files made mostly of bytes that mean something to the format."""
        common = (b"a", b"b", b" ", b"\n", b"\r", b"\r\n", BOM, b"\xef", b'"', b"\xc3\xa9", b"\x00")
        piece = st.sampled_from(self.special * 3 + common)
        return st.lists(piece, max_size=pieces).map(b"".join)


def _delimited(delimiter: bytes) -> Case:
    return Case(
        id=f"delimited {delimiter!r}",
        fmt=record_format("delimited", delimiter=delimiter, encoding="binary"),
        oracle=split_by(delimiter),
        special=(delimiter, delimiter[:1], delimiter[1:], delimiter[:-1]),
        text=False,
    )


FORMATS = [
    Case(id="lines", fmt=record_format("lines"), oracle=universal_lines, special=(b"\n", b"\r", b"\r\n")),
    Case(id="lines lf", fmt=record_format("lines", newline="lf"), oracle=split_by(b"\n"), special=(b"\n", b"\r")),
    Case(
        id="lines binary",
        fmt=record_format("lines", encoding="binary"),
        oracle=universal_lines,
        special=(b"\n", b"\r", b"\xff"),
        text=False,
    ),
    *map(_delimited, (b"\n", b"||", b"\n\n", b"abab", b"aabaa", b"ab", b"\r\n", b"aaa")),
    Case(id="json_lines", fmt=record_format("json_lines"), oracle=json_lines, special=(b"\n", b" ", b"{}", b"\r\n")),
    Case(id="fixed 1", fmt=record_format("fixed", length=1), oracle=fixed(1), special=(b"a",), text=False),
    Case(
        id="fixed 3",
        fmt=record_format("fixed", length=3, short_last="keep"),
        oracle=fixed(3),
        special=(b"abc",),
        text=False,
    ),
    Case(id="whole_file", fmt=record_format("whole_file"), oracle=whole_file, special=(b"\n",), text=False),
    Case(id="quoted_lines", fmt=QuotedLines(), oracle=quoted_lines, special=(b'"', b"\n", b'"\n"')),
]


class ShortReads(io.BytesIO):
    """A file whose reads return at most `most` bytes."""

    def __init__(self, data: bytes, most: int) -> None:
        """Hold the data."""
        super().__init__(data)
        self.most = most

    def read(self, size: int | None = -1, /) -> bytes:
        """Return fewer bytes than asked for, but not none before the end."""
        return super().read(self.most if size is None or size < 0 else min(size, self.most))


class CountedReads(io.BytesIO):
    """A file that counts the bytes it hands out."""

    handed_out = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return what was asked for, and count it."""
        data = super().read(size)
        self.handed_out += len(data)
        return data
