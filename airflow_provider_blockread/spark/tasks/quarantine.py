"""The quarantine of one task: bad records with their places, reasons and bytes."""

from __future__ import annotations

import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.protocol import Writer

#: One row per bad record: the feed, the record's place and length in the file, the reason, its bytes.
QUARANTINE_SCHEMA = pa.schema(
    [
        ("feed", pa.string()),
        ("path", pa.string()),
        ("block", pa.int64()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("reason", pa.string()),
        ("bytes", pa.binary()),
    ]
)
_BATCH_BYTES = 4 * 2**20  # of records in a batch; one record may be larger
_ROW_BYTES = 200  # approximate size of a row without its record


class Quarantine:
    """Collects bad records into batches for a writer; a record of any length is kept whole."""

    def __init__(self, feed: str, writer: Writer) -> None:
        self._feed, self._writer = feed, writer
        self._rows: list[tuple[str, str, int, int, int, str, bytes]] = []
        self._held = 0  # bytes

    def add(self, block: Block, offset: int, reason: str, record: bytes) -> None:
        """Keep a record that starts at byte `offset` of the block's file."""
        self._rows.append((self._feed, block.version.path, block.number, offset, len(record), reason, record))
        self._held += len(record) + _ROW_BYTES
        if self._held >= _BATCH_BYTES:
            self._flush()

    def close(self) -> list[OutputFile]:
        """Finish, and return the files; empty if no record was bad."""
        self._flush()
        return self._writer.close()

    def abort(self) -> None:
        """Remove everything that was written."""
        self._rows = []
        self._writer.abort()

    def _flush(self) -> None:
        if self._rows:
            columns = zip(*self._rows, strict=True)
            arrays = [pa.array(column, field.type) for column, field in zip(columns, QUARANTINE_SCHEMA, strict=True)]
            self._writer.write(pa.record_batch(arrays, schema=QUARANTINE_SCHEMA))
            self._rows, self._held = [], 0
