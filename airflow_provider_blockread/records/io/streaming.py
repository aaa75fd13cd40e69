"""Compressed files as streams of decoded bytes, in constant memory."""

from __future__ import annotations

import io
from typing import BinaryIO, NoReturn

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.records.io.codecs import open_stream
from airflow_provider_blockread.records.io.source import ByteSource

_STEP = 2**20  # bytes decoded at once
_FREE = 16 * 2**20  # decoded bytes before the ratio is checked
_UNKNOWN = 2**62  # larger than any file


class StreamSource(ByteSource):
    """A compressed file as exact reads of its decoded bytes, which go forward only.

    The bytes from the start of the last read on are kept; until `data_offset` is set, also the `max_record_bytes`
    before them.

    `size` is 2**62 until the end is reached, and then the decoded size: one byte more than requested is always decoded,
    so the end is known as soon as the last byte is returned. By then every compressed byte was decoded, up to a proper
    end of stream with correct checksums; `consumed` counts them.
    """

    streamed = True

    def __init__(
        self, file: BinaryIO, codec: str, *, size: int | None = None, name: str = "", limits: Policies = Policies()
    ) -> None:
        """Wrap an open file of `size` compressed bytes and decode its first byte.

        Raises:
            SourceError: when it does not start as the codec's data.
            FileChangedError: when the file is shorter than `size`.
        """
        super().__init__(file, size=size, name=name, max_record_bytes=limits.max_record_bytes)
        self._head_done = False
        self._stream = open_stream(ByteSource(file, size=self.size, name=self.name), codec)
        self._limits = limits
        self._decoded = 0
        self._ahead = b""  # decoded bytes after those that are kept
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
            SourceError: when the data are truncated, corrupt, followed by other data or larger than the limits, or the
                range begins before the kept bytes.
            FileChangedError: when the compressed file is shorter than planned.
        """
        start = max(start, 0)
        if start < self._kept_at:
            msg = (
                f"{self.name}: byte {start} was requested after byte {self._kept_at}, but a compressed file is decoded"
                " forward only; decompress it for a format that looks back"
            )
            raise SourceError(msg, self.name)
        keep_from = start if self._head_done else max(start - self.max_record_bytes, self._kept_at)
        self._keep(keep_from, end)
        return self._kept[start - self._kept_at : max(end, start) - self._kept_at]

    def _keep(self, start: int, end: int) -> None:
        """Keep the decoded bytes `[start, end)`, with little more memory than their size."""
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
            f"{self.name} decodes to too much data: {self._decoded} bytes from its first {self.consumed} exceed"
            f" {policy}={limit}; raise Policies({policy}=...) if the file is correct, or exclude the file with"
            " `blockread windows exclude`"
        )
        raise SourceError(msg, self.name)
