"""A task attempt's Parquet files in staging."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import BlockReadError, FunctionError, TransientError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import ParquetSink
from airflow_provider_blockread.sinks.conform import check_schema, conform, owned
from airflow_provider_blockread.sinks.names import StagedName
from airflow_provider_blockread.storage import Stores

#: A raw text column: hardly a value occurs twice, and its minimum and maximum tell nothing.
_RAW = "value"
_PAGE_BYTES = 256 * 2**10  # a page is encoded and compressed while it is in the processor's cache
_MAX_ARRAYS = 100_000  # of the batches that are held: each costs about 200 bytes beside its data
_FEWEST_ARRAYS = 10  # that a batch counts for


class ParquetWriter:
    """Writes record batches as they come; holds one row group, rolls to the next file at `file_bytes`.

    Args:
        stores: opens the staging folder.
        sink: compression and sizes.
        target: where, and under which names.
        schema: what every batch must have; None takes it from the first.
    """

    def __init__(self, stores: Stores, sink: ParquetSink, target: StagedName, schema: pa.Schema | None = None) -> None:
        self._stores = stores
        self._sink = sink
        self._target = target
        self._schema = schema
        self._files: list[OutputFile] = []
        self._group: list[pa.RecordBatch] = []
        self._group_bytes = 0
        self._open: _OpenFile | None = None
        self._full = min(sink.row_group_bytes, sink.file_bytes)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch; what makes a full row group goes to the file.

        Raises:
            FunctionError: when the batch has another schema than those before, or values that Parquet cannot hold.
            TransientError: when the store fails.
        """
        if self._schema is None:
            check_schema(batch.schema)
            self._schema = batch.schema
        batch = conform(batch, self._schema)
        if not batch.num_rows:
            return
        batch = owned(batch)
        self._group.append(batch)
        self._group_bytes += batch.nbytes
        if self._group_bytes >= self._full:
            self._flush()
        elif len(self._group) * max(batch.num_columns, _FEWEST_ARRAYS) >= _MAX_ARRAYS:
            self._group = pa.Table.from_batches(self._group).combine_chunks().to_batches()

    def close(self) -> list[OutputFile]:
        """Finish the last file and return all files; none when there were no rows."""
        self._flush()
        self._finish()
        return self._files

    def abort(self) -> None:
        """Drop everything this attempt wrote; what cannot be removed is never listed, so never published."""
        uris = [file.uri for file in self._files]
        if self._open is not None:
            uris.append(self._open.uri)
            self._open.discard()
        for uri in uris:
            with contextlib.suppress(BlockReadError):
                self._stores.remove(uri)
        self._files, self._group, self._open = [], [], None

    def _flush(self) -> None:
        if not self._group:
            return
        table = pa.Table.from_batches(self._group)
        if self._open is None:
            uri = self._target.uri(len(self._files))
            self._open = _OpenFile(self._stores, uri, table.schema, self._sink.compression)
        groups = max(round(self._group_bytes / self._full), 1)
        self._open.write(table, rows_per_group=-(-table.num_rows // groups), size=self._group_bytes)
        self._group, self._group_bytes = [], 0
        if self._open.taken >= self._sink.file_bytes:
            self._finish()

    def _finish(self) -> None:
        if self._open is not None:
            self._files.append(self._open.finish())
            self._open = None


class _OpenFile:
    """One Parquet file being written; `taken` counts uncompressed bytes."""

    def __init__(self, stores: Stores, uri: str, schema: pa.Schema, compression: str) -> None:
        self.uri = uri
        self.taken = 0
        self._rows = 0
        self._stores = stores
        self._file: BinaryIO = stores.open_write(uri)
        repeated = [field.name for field in schema if field.name != _RAW]
        try:
            with _explained(uri):
                self._parquet = pq.ParquetWriter(
                    self._file,
                    schema,
                    compression=compression,
                    use_dictionary=repeated,
                    write_statistics=repeated,
                    data_page_size=_PAGE_BYTES,
                    coerce_timestamps="us",  # Spark reads no finer ones; a loss is an error, not silent
                )
        except BlockReadError:
            self._file.close()
            raise

    def write(self, table: pa.Table, *, rows_per_group: int, size: int) -> None:
        """Write row groups of a table of `size` bytes."""
        with _explained(self.uri):
            self._parquet.write_table(table, row_group_size=rows_per_group)
        self.taken += size
        self._rows += table.num_rows

    def finish(self) -> OutputFile:
        """Write the footer and see the file safely in the store."""
        with _explained(self.uri):
            self._parquet.close()
            self._file.close()
        return OutputFile(uri=self.uri, size=self._stores.stat(self.uri).size, rows=self._rows)

    def discard(self) -> None:
        """Let go of the file, whole or not."""
        for end in (self._parquet.close, self._file.close):
            with contextlib.suppress(pa.ArrowException, OSError):
                end()


@contextlib.contextmanager
def _explained(uri: str) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        msg = f"{uri}: Parquet cannot hold what the function returned ({error}); cast it in the function"
        raise FunctionError(msg) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        msg = f"{uri} cannot be written ({why}); free space there, or let this account write there, then retry"
        raise TransientError(msg) from error
