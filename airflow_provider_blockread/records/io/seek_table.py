"""The Zstandard Seekable Format: zstd frames, and behind them a table of where each begins and how much it holds."""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import BinaryIO

import pyarrow as pa

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.records.io.source import ByteSource

#: Bytes of a frame before compression, about.
FRAME_BYTES = 2**20

_LONGEST = 2**31  # bytes of a frame before compression: a value, or several of a mebibyte together

_SKIPPABLE, _SEEKABLE = 0x184D2A5E, 0x8F92EAB1  # magic numbers: at the table's start, and at its end
_PAIR = struct.Struct("<II")  # magic and length of a skippable frame; or both sizes of a frame
_FOOTER = struct.Struct("<IBI")  # frames, flags, magic


def read_seek_table(source: ByteSource) -> list[tuple[int, int]]:
    """Return the compressed and decompressed sizes of a file's frames, in order, from the table at its end.

    Raises:
        SourceError: when there is none, or not one of this file.
    """
    count, _, magic = _FOOTER.unpack(source.read(source.size - _FOOTER.size, source.size).rjust(_FOOTER.size, b"\0"))
    end = source.size - _FOOTER.size
    begin = end - count * _PAIR.size
    if magic == _SEEKABLE and begin >= _PAIR.size:
        frames = list(_PAIR.iter_unpack(source.read(begin, end)))
        whole = sum(compressed for compressed, _ in frames) + _PAIR.size == begin
        if whole and all(decoded <= _LONGEST for _, decoded in frames):  # what is promised would be allocated
            return frames
    msg = f"{source.name} does not end with its seek table; restore it, or merge its files again"
    raise SourceError(msg, source.name)


class FrameWriter:
    """Compresses parts into frames, a part of a mebibyte or several smaller ones into each."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        """Take what appends to the file."""
        self._write = write
        self._codec = pa.Codec("zstd", 1)
        self._parts: list[memoryview | bytes] = []
        self._held = 0  # bytes in parts
        self._frames: list[tuple[int, int]] = []  # sizes of frames, compressed and not

    def write(self, part: memoryview | bytes) -> None:
        """Take a part."""
        self._parts.append(part)
        self._held += len(part)
        if self._held >= FRAME_BYTES:
            self._end_frame()

    def _end_frame(self) -> None:
        frame: bytes = self._codec.compress(b"".join(self._parts), asbytes=True)
        self._write(frame)
        self._frames.append((len(frame), self._held))
        self._parts, self._held = [], 0

    def close(self) -> None:
        """Write the last frame and the seek table; an archive of empty files has an empty frame."""
        if self._held or not self._frames:
            self._end_frame()
        content = b"".join(_PAIR.pack(*frame) for frame in self._frames)
        footer = _FOOTER.pack(len(self._frames), 0, _SEEKABLE)
        self._write(_PAIR.pack(_SKIPPABLE, len(content) + len(footer)) + content + footer)


class FrameSource(ByteSource):
    """A zstd file with a seek table as exact reads of its decoded bytes, in any order."""

    def __init__(self, file: BinaryIO, *, name: str) -> None:
        """Wrap an open file.

        Raises:
            SourceError: when it has no seek table.
        """
        self._raw = ByteSource(file, name=name)
        self._frames = read_seek_table(self._raw)
        self._places = list(accumulate((compressed for compressed, _ in self._frames), initial=0))
        self._starts = list(accumulate((decoded for _, decoded in self._frames), initial=0))
        super().__init__(file, size=self._starts[-1], name=name)

    def _fetch(self, start: int, end: int) -> bytes:
        first = bisect_right(self._starts, start) - 1
        parts = []
        for number in range(first, len(self._frames)):
            if self._starts[number] >= end:
                break
            frame = self._raw.read(self._places[number], self._places[number + 1])
            try:
                parts.append(pa.decompress(frame, self._frames[number][1], codec="zstd", asbytes=True))
            except (pa.ArrowException, OSError) as error:
                where = f"{self.name} cannot be decompressed at byte {self._places[number]}"
                msg = f"{where}; restore it, or merge its files again"
                raise SourceError(msg, self.name) from error
        return b"".join(parts)[start - self._starts[first] : end - self._starts[first]]
