"""Compressed files as streams of decoded bytes, in flat memory."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import BinaryIO, NoReturn

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.records.io.codecs import open_stream
from airflow_provider_blockread.records.io.source import MAX_RECORD_BYTES, ByteSource

_STEP = 2**20  # decoded bytes made at once
_FREE = 16 * 2**20  # decoded bytes that no ratio is asked of
_UNKNOWN = 2**62  # a size that no file reaches


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLimits:
    """How much a compressed file may hold: bytes of a record, bytes in all, and decoded bytes to a compressed one."""

    max_record_bytes: int = MAX_RECORD_BYTES
    max_decoded_bytes: int = 2**40
    max_expansion: int = 1000


class StreamSource(ByteSource):
    """A compressed file as exact reads of its decoded bytes, which go forward only.

    The bytes from the start of the last read on are kept; of the file's head, until `data_offset` is set, also the
    `max_record_bytes` before.
    `size` is 2**62 until the end was seen, and then the decoded size: one byte more than asked for is always decoded,
    so the end is known as soon as the last byte is handed out. Then every compressed byte was decoded, up to a proper
    end of stream, and checksums were right; `consumed` counts them.
    """

    streamed = True

    def __init__(
        self,
        file: BinaryIO,
        codec: str,
        *,
        size: int | None = None,
        name: str = "",
        limits: StreamLimits = StreamLimits(),
    ) -> None:
        """Wrap an open file of `size` compressed bytes and decode its first byte.

        Raises:
            SourceError: when it does not begin as the codec's data.
            FileChangedError: when the file is shorter than `size`.
        """
        super().__init__(file, size=size, name=name, max_record_bytes=limits.max_record_bytes)
        self._head_done = False
        self._stream = open_stream(ByteSource(file, size=self.size, name=self.name), codec)
        self._limits = limits
        self._decoded = 0
        self._ahead = b""  # decoded bytes behind those that are kept
        self._ended = False
        self.size = _UNKNOWN
        self.read(0, 0)

    @property
    def data_offset(self) -> int:
        """The first decoded byte that belongs to a record; setting it ends the file's head."""
        return self._data_offset

    @data_offset.setter
    def data_offset(self, offset: int) -> None:
        self._data_offset = offset
        self._head_done = True

    def read(self, start: int, end: int) -> bytes:
        """Return the decoded bytes `[start, end)`, clipped to the file.

        Raises:
            SourceError: when the data are cut short, harmed, followed by something else or larger than the limits
                allow; and when the range begins before what is kept.
            FileChangedError: when the compressed file is shorter than planned.
        """
        start = max(start, 0)
        if start < self._kept_at:
            msg = (
                f"{self.name}: byte {start} was asked for after byte {self._kept_at}, but a compressed file is decoded"
                " forward only; decompress it for a format that looks back"
            )
            raise SourceError(msg, self.name)
        keep_from = start if self._head_done else max(start - self.max_record_bytes, self._kept_at)
        self._keep(keep_from, end)
        return self._kept[start - self._kept_at : max(end, start) - self._kept_at]

    def _keep(self, start: int, end: int) -> None:
        """Keep the decoded bytes `[start, end)`, in little more memory than they take."""
        kept = io.BytesIO(self._kept[start - self._kept_at :])
        self._kept = b""  # from here on one copy grows
        kept.seek(0, io.SEEK_END)
        begins, data = self._decoded - len(self._ahead), self._ahead
        while True:
            data = data[max(start - begins, 0) :]
            room = max(end - max(begins, start), 0)
            kept.write(data[:room])
            self._ahead = data[room:]
            if self._decoded > end or self._ended:
                break
            begins, data = self._decoded, self._decode(min(end + 1 - self._decoded, _STEP))
        self._kept, self._kept_at = kept.getvalue(), min(start, self._decoded)

    def _decode(self, most: int) -> bytes:
        data = self._stream.decode(most)
        self._decoded += len(data)
        self.consumed = self._stream.consumed
        if not data:
            self._ended, self.size = True, self._decoded
        elif self._decoded > self._limits.max_decoded_bytes:
            self._refuse("max_decoded_bytes", self._limits.max_decoded_bytes)
        elif self._decoded > max(_FREE, self._limits.max_expansion * self.consumed):
            self._refuse("max_expansion", self._limits.max_expansion)
        return data

    def _refuse(self, policy: str, limit: int) -> NoReturn:
        msg = (
            f"{self.name} holds too much: {self._decoded} bytes decoded from its first {self.consumed} exceed"
            f" {policy}={limit}; raise Policies({policy}=...) if the file is right, or exclude the file with"
            " `blockread windows exclude`"
        )
        raise SourceError(msg, self.name)
