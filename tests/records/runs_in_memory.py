"""Reads files that repeat one piece, in a separate process: `python -m tests.records.runs_in_memory`.

Prints as JSON the memory of the process before the first file, and the peak for each.
"""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Csv, Delimited, Escaped, FormatOption, JsonArray, JsonLines, Lines
from airflow_provider_blockread.records import ByteSource, make_format
from airflow_provider_blockread.records.reading import bind
from airflow_provider_blockread.records.walking import WalkLimits, walk_block

MIB = 2**20
SIZE = 16 * MIB
LIMIT = 4 * MIB  # of a record
_MARKED = Csv(schema="value string", escape="\\", comment="#")
_ARRAY, _VALUES = JsonArray(schema="id long"), JsonArray(schema="id long", layout="values")
ENDLESS: list[tuple[FormatOption, bytes]] = [
    (Lines(), b"x"),
    (Lines(encoding="utf-16-le"), b"x\x00"),
    (Delimited(delimiter="aabaa"), b"a"),
    (Escaped(), b"\\"),
    (Escaped(), b"\\\n"),
    (Escaped(delimiter="||"), b"\\||"),
    (Csv(schema="value string"), b'"'),
    (Csv(schema="value string"), b","),
    (Csv(schema="value string"), b'"\n\n'),
    (Csv(schema="value string", encoding="utf-16-le"), b'"\x00'),
    (_MARKED, b"\\"),
    (_MARKED, b"\\\n"),
    (_MARKED, b"#"),
    (JsonLines(), b" "),
    (JsonLines(), b"{"),
    (_VALUES, b"{"),
    (_VALUES, b'"'),
    (_VALUES, b"\\"),
    (_ARRAY, b"["),
    (_ARRAY, b'["'),
]
ENDING: list[tuple[FormatOption, bytes]] = [
    (Lines(), b"\n"),
    (Lines(), b"\r"),
    (Delimited(delimiter="||"), b"|"),
    (Delimited(delimiter="aabaa"), b"aab"),
    (Csv(schema="value string"), b"\n"),
    (Csv(schema="value string"), b'"\n'),
    (_MARKED, b"#\n"),
    (JsonLines(schema="id long"), b"\n"),
    (_VALUES, b"1 "),
    (_VALUES, b"[]"),
]


class Run(io.RawIOBase):
    """A file that repeats one piece without holding it in memory, after an array's opening bracket."""

    def __init__(self, piece: bytes, size: int, *, head: bytes = b"") -> None:
        """Take the piece."""
        self._piece, self._size, self._head, self._at = piece, size, head, 0

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place counted from the file's start or end."""
        self._at = offset if whence == io.SEEK_SET else self._size + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        size, skip = min(size, self._size - self._at), self._at % len(self._piece)
        data = (self._piece * (size // len(self._piece) + 2))[skip : skip + size]
        data, self._at = self._head[self._at :] + data[len(self._head[self._at :]) :], self._at + size
        return data


def run_of(option: FormatOption, piece: bytes, size: int) -> ByteSource:
    """Return a file that repeats one piece."""
    head = b"[" if option is _ARRAY else b""
    return ByteSource(Run(piece, size, head=head), name="run", max_record_bytes=LIMIT)


def read(source: ByteSource, option: FormatOption) -> None:
    """Read and decode a file, as far as possible."""
    fmt = bind(source, make_format(option))
    decoder, limits = fmt.decoder(), WalkLimits(max_record_bytes=LIMIT)
    with contextlib.suppress(RecordError):
        for chunk in walk_block(source, fmt, source.data_offset, source.size, limits):
            decoder.decode(chunk)


def peak() -> int:
    """Return the peak memory of this process since the last call; Linux only."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def main() -> list[int]:
    """Return the memory of the process before the first file, and the peak for each."""
    sizes = [SIZE] * len(ENDLESS) + [SIZE // 8] * len(ENDING)
    for option, piece in (*ENDLESS, *ENDING):
        read(run_of(option, piece, MIB // 16), option)  # what is made once is no part of it
    peak()
    peaks = [peak()]
    for (option, piece), size in zip((*ENDLESS, *ENDING), sizes, strict=True):
        read(run_of(option, piece, size), option)
        peaks.append(peak())
    return peaks


if __name__ == "__main__":
    print(json.dumps(main()))
