"""Codecs: compressed bytes as a stream of decoded ones, checked up to the last byte of the file.

gzip members, bzip2 and xz streams and zstd frames may follow each other in one file, empty ones too, and what they hold
is joined. Between and behind xz streams there may be zeros in multiples of four, as its format says. Anything else
behind a stream is an error, as is an end before its end.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Callable
from typing import NoReturn, Protocol

import pyarrow as pa

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.io.zstd_frames import MAGIC, SKIPPABLE, end_of_frames

#: Bytes of a file's head that tell its codec.
HEAD_BYTES = 10

_CHUNK = 64 * 2**10  # compressed bytes fetched at once
_XZ_MEMORY = 512 * 2**20  # bytes; `xz -9` needs 65 MiB, and a header may ask for 4 GiB
_XZ_PADDING = 4  # zeros behind a stream come in multiples of it
_MAGIC = {"gzip": b"\x1f\x8b", "bzip2": b"BZh", "xz": b"\xfd7zXZ\x00", "zstd": MAGIC}
_BZIP2_BLOCKS = (b"1AY&SY", b"\x17rE8P\x90")
_GZIP_DEFLATE = b"\x1f\x8b\x08"
_TRUNCATED = "Truncated"  # what Arrow says of a stream without its end
_NO_FRAME = "Unknown frame descriptor"  # and of something else behind a frame


class Stream(Protocol):
    """A compressed file that is being decoded; `consumed` counts the bytes taken from it so far."""

    consumed: int

    def decode(self, most: int) -> bytes:
        """Return the next decoded bytes, at least one and at most `most`; none once all of the file was right."""
        ...


class _Decompressor(Protocol):
    """What `bz2` and `lzma` have in common: input is kept until it is taken."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int) -> bytes: ...


def codec_of_head(head: bytes) -> str | None:
    """Return the codec of a file that begins so, or None where it looks like none."""
    if head.startswith(b"BZh"):
        return "bzip2" if head[3:4] in b"123456789" and head[4:10] in _BZIP2_BLOCKS else None
    if head.startswith(b"\x1f"):
        return "gzip" if head.startswith(_GZIP_DEFLATE) else None
    return next((codec for codec, magic in _MAGIC.items() if head.startswith(magic)), None)


def open_stream(raw: ByteSource, codec: str) -> Stream:
    """Return the decoded bytes of a file.

    Raises:
        SourceError: here or from `decode`: when the file does not begin as the codec's data, is cut short or harmed,
            or holds something else behind them.
        FileChangedError: when the file is shorter than planned.
    """
    return _Frames(raw) if codec == "zstd" else _Members(raw, codec)


class _Input:
    """The compressed bytes of a file in order, and the errors that say where in it something is wrong."""

    def __init__(self, raw: ByteSource, codec: str) -> None:
        self._raw, self._codec = raw, codec
        self.consumed = 0  # bytes handed to the decoder
        self._decoded = 0
        self._check_head()

    def _check_head(self) -> None:
        raw, codec = self._raw, self._codec
        head = raw.read(0, HEAD_BYTES)
        starts = (_MAGIC[codec], *(SKIPPABLE if codec == "zstd" else ()))
        if head.startswith(starts):
            return
        if any(start.startswith(head) for start in starts):
            self._cut_short()
        found = codec_of_head(head)
        looks = f", it looks like {found}" if found else ""
        self._refuse(
            f"does not begin as {codec} data{looks}; set compression={found or 'none'!r}, or exclude the file with"
            " `blockread windows exclude` and rename it"
        )

    def _refuse(self, what: str, cause: Exception | None = None) -> NoReturn:
        msg = f"{self._raw.name} {what}"
        raise SourceError(msg, self._raw.name) from cause

    def _cut_short(self, cause: Exception | None = None) -> NoReturn:
        what = f"ends early: its {self._codec} data break off after {self._decoded} decoded bytes, at byte"
        self._refuse(
            f"{what} {self._raw.size} of the file; complete the file, or exclude it with `blockread windows exclude`",
            cause,
        )

    def _harmed(self, error: Exception) -> NoReturn:
        what = f"cannot be decoded: its {self._codec} data are wrong at or before byte {self.consumed} of the file"
        self._refuse(
            f"{what} ({error}); restore the file, or exclude it with `blockread windows exclude`",
            error,
        )

    def _followed_by_others(self, end: int, cause: Exception | None = None) -> NoReturn:
        self._refuse(
            f"holds bytes behind the end of its {self._codec} data at byte {end}; take them out, or exclude the file"
            " with `blockread windows exclude`",
            cause,
        )

    def _more(self, most: int = _CHUNK) -> bytes:
        data = self._raw.read(self.consumed, self.consumed + most)
        self.consumed += len(data)
        return data


class _Members(_Input):
    """A file of gzip members, or of bzip2 or xz streams."""

    def __init__(self, raw: ByteSource, codec: str) -> None:
        super().__init__(raw, codec)
        self._member: _Decompressor | None = None  # the one at hand
        self._rest = b""  # input behind the end of the member before

    def decode(self, most: int) -> bytes:
        """Return the next decoded bytes of this member or the next ones."""
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
        hungry = member.needs_input
        fed = (self._rest or self._more()) if hungry else b""
        self._rest = b""
        try:
            data = member.decompress(fed, most)
        except (zlib.error, OSError, lzma.LZMAError) as error:  # bz2 has no error of its own
            self._harmed(error)
        if hungry and not fed and not data and not member.eof:
            self._cut_short()
        return data

    def _begin(self) -> _Decompressor | None:
        """Return a decompressor for the next member, None at the file's end."""
        magic, end = _MAGIC[self._codec], self.consumed - len(self._rest)
        if self._codec == "xz" and end:
            self._skip_padding(end)
        while len(self._rest) < len(magic) and (more := self._more()):
            self._rest += more
        if self._rest.startswith(magic):
            return _DECOMPRESSORS[self._codec]()
        if self._rest and magic.startswith(self._rest):
            self._cut_short()
        if self._rest:
            self._followed_by_others(end)
        return None

    def _skip_padding(self, end: int) -> None:
        zeros = 0
        while self._rest.startswith(b"\0") or (not self._rest and (more := self._more())):
            self._rest = self._rest or more
            left = self._rest.lstrip(b"\0")
            zeros, self._rest = zeros + len(self._rest) - len(left), left
        if zeros % _XZ_PADDING:
            self._followed_by_others(end)


class _ArrowFile:
    """Compressed bytes as a file for Arrow.

    It does not know who decodes them: a cycle through Arrow would keep a decoder, of up to 128 MiB, until Python looks
    for cycles.
    """

    closed = False

    def __init__(self, raw: ByteSource) -> None:
        self._raw = raw
        self.consumed = 0
        self.failure: OSError | None = None  # the store's, not the data's

    def read(self, most: int) -> bytes:
        """Return the next bytes."""
        try:
            data = self._raw.read(self.consumed, self.consumed + most)
        except OSError as error:
            self.failure = error
            raise
        self.consumed += len(data)
        return data

    def close(self) -> None:
        """Do nothing: who opened the file closes it."""


class _Frames(_Input):
    """A file of zstd frames, decoded by Arrow."""

    def __init__(self, raw: ByteSource) -> None:
        super().__init__(raw, "zstd")
        self._file = _ArrowFile(raw)
        self._frames = pa.CompressedInputStream(pa.PythonFile(self._file, mode="r"), "zstd")

    def decode(self, most: int) -> bytes:
        """Return the next decoded bytes."""
        try:
            data: bytes = self._frames.read(most)
        except OSError as error:
            self.consumed = self._file.consumed
            if self._file.failure is not None:
                raise self._file.failure from None
            if _TRUNCATED in str(error):
                self._cut_short(error)
            if _NO_FRAME in str(error):
                self._followed_by_others(end_of_frames(self._raw), error)
            self._harmed(error)
        self.consumed = self._file.consumed
        self._decoded += len(data)
        return data


class _Gzip:
    """zlib's decompressor, with the manners of those of `bz2` and `lzma`."""

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


_DECOMPRESSORS: dict[str, Callable[[], _Decompressor]] = {
    "gzip": _Gzip,
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY),
}
