"""Codecs: compressed bytes as a stream of decoded ones, checked up to the last byte of the file.

A file may consist of several gzip members, bzip2 or xz streams or zstd frames, empty ones included; their contents are
concatenated. Zeros in multiples of four may follow an xz stream, as its format allows. Any other data after a stream,
and a truncated stream, are errors.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import NoReturn

import pyarrow as pa

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.records.io.source import ByteSource, ExactFile
from airflow_provider_blockread.records.io.zstd_frames import MAGIC, SKIPPABLE, end_of_frames

#: Bytes of a file's head that identify its codec.
HEAD_BYTES = 10

_CHUNK = 64 * 2**10  # compressed bytes fetched at once
_XZ_MEMORY = 512 * 2**20  # bytes; `xz -9` needs 65 MiB, and a header may ask for 4 GiB
_XZ_PADDING = 4  # zeros after a stream come in multiples of it
#: How the data of each codec begins.
MAGICS = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": MAGIC}
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
_GZIP_DEFLATE = b"\x1f\x8b\x08"
_TRUNCATED = "Truncated"  # Arrow's message for a stream without its end
_NO_FRAME = "Unknown frame descriptor"  # and for other data after a frame
#: What sound data may ask for and not get: Arrow's and lzma's messages, in words.
_BEYOND = {
    "requires too much memory": "a window of more than 128 MiB",
    "Dictionary mismatch": "a dictionary",
    "Memory usage limit": "more than 512 MiB of memory",
}


def codec_of_head(head: bytes) -> str | None:
    """Return the codec of a file with this head, or None."""
    if head.startswith(b"BZh"):
        return "bzip2" if head[3:4] in b"123456789" and head[4:10] in _BZIP2_BLOCKS else None
    if head.startswith(b"\x1f"):
        return "gzip" if head.startswith(_GZIP_DEFLATE) else None
    return next((codec for codec, magic in MAGICS.items() if head.startswith(magic)), None)


def open_stream(raw: ByteSource, codec: str) -> _Frames | _Members:
    """Return the decoded bytes of a file.

    Raises:
        SourceError: here or from `decode`: when the file does not start as the codec's data, is truncated or corrupt,
            or has other data after them.
        FileChangedError: when the file is shorter than planned.
    """
    return _Frames(raw) if codec == "zstd" else _Members(raw, codec)


class _Input:
    """The compressed bytes of a file in order, and the errors that give the position of a fault."""

    def __init__(self, raw: ByteSource, codec: str) -> None:
        self._raw, self._codec = raw, codec
        self.consumed = 0  # bytes passed to the decoder
        self._decoded = 0
        self._check_head()

    def _check_head(self) -> None:
        raw, codec = self._raw, self._codec
        head = raw.read(0, HEAD_BYTES)
        starts = (MAGICS[codec], *(SKIPPABLE if codec == "zstd" else ()))
        if head.startswith(starts):
            return
        if any(start.startswith(head) for start in starts):
            self._truncated()
        found = codec_of_head(head)
        looks = f", it looks like {found}" if found else ""
        self._refuse(
            f"does not start as {codec} data{looks}; set compression={found or 'none'!r}, or exclude the file with"
            " `blockread windows exclude` and rename it"
        )

    def _refuse(self, what: str, cause: Exception | None = None) -> NoReturn:
        msg = f"{self._raw.name} {what}"
        raise SourceError(msg, self._raw.name) from cause

    def _truncated(self, cause: Exception | None = None) -> NoReturn:
        what = f"is truncated: its {self._codec} data end after {self._decoded} decoded bytes, at byte"
        self._refuse(
            f"{what} {self._raw.size} of the file; complete the file, or exclude it with `blockread windows exclude`",
            cause,
        )

    def _corrupt(self, error: Exception) -> NoReturn:
        asked = next((words for said, words in _BEYOND.items() if said in str(error)), None)
        if asked is not None:
            self._refuse(
                f"cannot be decoded: its {self._codec} data ask for {asked}; if that is no damage, compress them"
                " again without it, or exclude the file with `blockread windows exclude`",
                error,
            )
        what = f"is corrupt: its {self._codec} data cannot be decoded at or before byte {self.consumed} of the file"
        self._refuse(f"{what} ({error}); restore the file, or exclude it with `blockread windows exclude`", error)

    def _trailing_data(self, end: int, cause: Exception | None = None) -> NoReturn:
        self._refuse(
            f"has bytes after the end of its {self._codec} data at byte {end}; remove them, or exclude the file"
            " with `blockread windows exclude`",
            cause,
        )

    def _read_more(self) -> bytes:
        data = self._raw.read(self.consumed, self.consumed + _CHUNK)
        self.consumed += len(data)
        return data


class _Members(_Input):
    """A file of gzip members, or of bzip2 or xz streams."""

    def __init__(self, raw: ByteSource, codec: str) -> None:
        super().__init__(raw, codec)
        self._member: _Decompressor | None = None  # the current one
        self._rest = b""  # input after the end of the previous member

    def decode(self, most: int) -> bytes:
        """Return the next decoded bytes, at least one and at most `most`; none at the end of a valid file."""
        while member := self._member or self._begin():
            self._member = member
            data = self._step(member, most)
            if member.eof:
                self._rest, self._member = member.unused_data, None
            if data:
                self._decoded += len(data)
                return data
        return b""

    def _step(self, member: _Decompressor, most: int) -> bytes:
        needs_input = member.needs_input
        fed = (self._rest or self._read_more()) if needs_input else b""
        self._rest = b""
        try:
            data = member.decompress(fed, most)
        except (zlib.error, OSError, lzma.LZMAError) as error:  # bz2 raises OSError
            self._corrupt(error)
        if needs_input and not fed and not data and not member.eof:
            self._truncated()
        return data

    def _begin(self) -> _Decompressor | None:
        """Return a decompressor for the next member, or None at the file's end."""
        magic, end = MAGICS[self._codec], self.consumed - len(self._rest)
        if self._codec == "xz" and end:
            self._skip_padding(end)
        while len(self._rest) < len(magic) and (more := self._read_more()):
            self._rest += more
        if self._rest.startswith(magic):
            return _DECOMPRESSORS[self._codec]()
        if self._rest and magic.startswith(self._rest):
            self._truncated()
        if self._rest:
            self._trailing_data(end)
        return None

    def _skip_padding(self, end: int) -> None:
        zeros = 0
        while self._rest.startswith(b"\0") or (not self._rest and (more := self._read_more())):
            self._rest = self._rest or more
            left = self._rest.lstrip(b"\0")
            zeros, self._rest = zeros + len(self._rest) - len(left), left
        if zeros % _XZ_PADDING:
            self._trailing_data(end)


class _CompressedFile(ExactFile):
    """Compressed bytes as a file for Arrow.

    It has no reference to the decoder: a cycle through Arrow would keep a decoder, of up to 128 MiB, until Python
    collects cycles.
    """

    failure: OSError | None = None  # of the store, as opposed to the data

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes."""
        try:
            return super().read(size)
        except OSError as error:
            self.failure = error
            raise


class _Frames(_Input):
    """A file of zstd frames, decoded by Arrow."""

    def __init__(self, raw: ByteSource) -> None:
        super().__init__(raw, "zstd")
        self._file = _CompressedFile(raw)
        self._frames = pa.CompressedInputStream(pa.PythonFile(self._file, mode="r"), "zstd")

    def decode(self, most: int) -> bytes:
        """Return the next decoded bytes, at least one and at most `most`; none at the end of a valid file."""
        try:
            data: bytes = self._frames.read(most)
        except OSError as error:
            self.consumed = self._file.tell()
            if self._file.failure is not None:
                raise self._file.failure from None
            if _TRUNCATED in str(error):
                self._truncated(error)
            if _NO_FRAME in str(error):
                self._trailing_data(end_of_frames(self._raw), error)
            self._corrupt(error)
        self.consumed = self._file.tell()
        self._decoded += len(data)
        return data


class _Gzip:
    """zlib's decompressor with the protocol of those of `bz2` and `lzma`."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def needs_input(self) -> bool:
        return not self._zlib.unconsumed_tail

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail or data, max_length)


_Decompressor = bz2.BZ2Decompressor | lzma.LZMADecompressor | _Gzip
_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "gzip": _Gzip,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY),
}
