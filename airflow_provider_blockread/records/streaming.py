"""Compressed files as streams of decoded bytes, in flat memory."""

from __future__ import annotations

from typing import BinaryIO

from airflow_provider_blockread.records.source import ByteSource


class StreamSource(ByteSource):
    """A compressed file as exact forward reads of its decoded bytes."""

    streamed = True

    def __init__(self, file: BinaryIO, codec: str, *, name: str = "") -> None:
        """Wrap an open file."""
        super().__init__(file, name=name)
        self.codec = codec
