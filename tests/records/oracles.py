"""The records of a file byte by byte, from the definitions, without code of the package.

Each oracle takes a whole file and where its data begin, and returns (offset, record) pairs.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable

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
    """Return the oracle of records ended by a byte string: that of `bytes.split`."""

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


class ShortReads(io.BytesIO):
    """A file whose reads return at most `most` bytes."""

    def __init__(self, data: bytes, most: int) -> None:
        """Take the data."""
        super().__init__(data)
        self.most = most

    def read(self, size: int | None = -1, /) -> bytes:
        """Return fewer bytes than requested, but at least one before the end."""
        return super().read(self.most if size is None or size < 0 else min(size, self.most))


class CountedReads(io.BytesIO):
    """A file that counts the bytes that it returns."""

    handed_out = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the requested bytes, and count them."""
        data = super().read(size)
        self.handed_out += len(data)
        return data
