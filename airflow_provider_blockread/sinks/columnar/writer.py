"""Parquet files as one task writes them, in the order of arrival or sorted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import BlockReadError, FunctionError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import ColumnarSink
from airflow_provider_blockread.sinks.columnar.arranged import compression, misarranged, sort_columns
from airflow_provider_blockread.sinks.columnar.encodings import RAW, choose_encodings
from airflow_provider_blockread.sinks.columnar.field_ids import with_ids
from airflow_provider_blockread.sinks.columnar.sorting import Sorter
from airflow_provider_blockread.sinks.conform import check_precision, conform, misnamed, owned
from airflow_provider_blockread.sinks.staging import StagedFile, StagedFiles, explained
from airflow_provider_blockread.sinks.statistics import column_statistics, misfit, with_nan
from airflow_provider_blockread.storage import Stores

_PAGE_BYTES = 256 * 2**10  # a page is encoded and compressed while it is in the processor's cache
_MAX_ARRAYS = 100_000  # in the batches that are held: each costs about 200 bytes in addition to its data
_FEWEST_ARRAYS = 10  # counted for a batch


class ParquetWriter(StagedFiles["_ParquetFile"]):
    """Writes record batches in the order of arrival; holds one row group, and starts the next file at `file_bytes`.

    Args:
        stores: opens the staging folder.
        option: the columnar sink, with compression and sizes.
        name: returns the URI of a file for its number.
        schema: the schema of every batch, or None to take it from the first.
        table: the target, for files of a table: all types must be ones that tables hold, and statistics are reported.
    """

    def __init__(
        self,
        stores: Stores,
        option: ColumnarSink,
        name: Callable[[int], str],
        schema: pa.Schema | None,
        table: Target | None = None,
    ) -> None:
        super().__init__(stores)
        self._option, self._table = option, table
        self._name = name
        self._schema = schema if schema is None else self._written(schema)
        self._group: list[pa.RecordBatch] = []
        self._group_bytes = 0
        self._full = min(option.row_group_bytes, option.file_bytes)

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Add a batch; full row groups are written to the file."""
        del block
        if self._schema is None:
            if problem := self._misfit(batch.schema):
                raise FunctionError(problem)
            self._schema = self._written(batch.schema)
        batch = conform(batch, self._schema)
        if not batch.num_rows:
            return
        check_precision(batch)
        batch = owned(batch)
        self._group.append(batch)
        self._group_bytes += batch.nbytes
        if self._group_bytes >= self._full:
            self._flush()
        elif len(self._group) * max(batch.num_columns, _FEWEST_ARRAYS) >= _MAX_ARRAYS:
            self._group = pa.Table.from_batches(self._group).combine_chunks().to_batches()

    def _misfit(self, schema: pa.Schema) -> str:
        """Return the reason why files cannot hold such rows, or an empty string if they can."""
        problem = misnamed(schema) or (misfit(schema) if self._table else "")
        if problem or self._option.partition_by:  # the arrangement was already checked for all columns
            return problem
        return misarranged(schema, self._option)

    def _written(self, schema: pa.Schema) -> pa.Schema:
        """Return the schema of files for the schema of batches."""
        ids = self._table and self._table.field_ids
        return with_ids(schema, ids) if ids else schema

    @property
    def held_bytes(self) -> int:
        """What it holds in memory."""
        return self._group_bytes

    @property
    def is_open(self) -> bool:
        """Whether it has a file open."""
        return self._open is not None

    def close(self) -> list[OutputFile]:
        """Finish the last file and return all of them."""
        self._flush()
        return super().close()

    def abort(self) -> None:
        """Remove all files, whole or not."""
        self._group = []
        super().abort()

    def _flush(self) -> None:
        if not self._group:
            return
        table = pa.Table.from_batches(self._group)
        size, self._group, self._group_bytes = self._group_bytes, [], 0
        self._put(table, size)
        if self._open is not None and self._open.taken >= self._option.file_bytes:
            self._finish()

    def _put(self, table: pa.Table, size: int) -> None:
        """Write row groups of a table of `size` bytes."""
        if self._open is None:
            uri = self._name(len(self._files))
            self._open = _ParquetFile(self._stores, uri, table, self._option, describes=self._table is not None)
        groups = max(round(size / self._full), 1)
        self._open.write(table, rows_per_group=-(-table.num_rows // groups), size=size)


class SortedWriter(ParquetWriter):
    """Writes files with sorted rows: it collects the rows of a file on the local disk before it writes them."""

    _gathered = 0

    @cached_property
    def _sorter(self) -> Sorter:
        return Sorter(sort_columns(self._option))

    @property
    def held_bytes(self) -> int:
        """What it holds in memory."""
        return self._group_bytes + self._sorter.held_bytes

    @property
    def is_open(self) -> bool:
        """Whether it has a file open, on the local disk or in the store."""
        return self._sorter.is_open

    def close(self) -> list[OutputFile]:
        """Finish the last file and return all of them."""
        self._flush()
        self._pour()
        return super().close()

    def abort(self) -> None:
        """Remove all files, whole or not."""
        self._sorter.close()
        super().abort()

    def _put(self, table: pa.Table, size: int) -> None:
        with explained(self._name(len(self._files))):
            self._sorter.add(table)
        self._gathered += size
        if self._gathered >= self._option.file_bytes:
            self._pour()

    def _pour(self) -> None:
        """Write all collected rows to a file."""
        pieces, size = list[pa.Table](), 0
        for piece in self._sorter.rows():
            pieces.append(piece)
            size += piece.nbytes
            if size >= self._full:
                super()._put(pa.concat_tables(pieces), size)
                pieces, size = [], 0
        if pieces:
            super()._put(pa.concat_tables(pieces), size)
        self._finish()
        self._gathered = 0


class _ParquetFile(StagedFile):
    """One Parquet file being written; `taken` counts uncompressed bytes. It may report statistics.

    The first table to write decides its schema and how its columns are encoded.
    """

    def __init__(self, stores: Stores, uri: str, first: pa.Table, option: ColumnarSink, *, describes: bool) -> None:
        super().__init__(stores, uri)
        self.taken = 0
        self._describes = describes
        self._unbounded = set[str]()
        order = [(name, "ascending") for name in sort_columns(option)]
        try:
            with explained(uri):
                self._parquet = pq.ParquetWriter(
                    self._file,
                    first.schema,
                    compression=compression(first.schema, option),
                    write_statistics=describes or [name for name in first.schema.names if name != RAW],
                    data_page_size=_PAGE_BYTES,
                    sorting_columns=pq.SortingColumn.from_ordering(first.schema, order) if order else None,
                    coerce_timestamps="us",  # the finest that Spark reads; a loss is an error
                    **choose_encodings(first, option.compression, option.encodings),
                )
        except BlockReadError:
            self._file.close()
            raise
        self._layers.insert(0, self._parquet)

    def finish(self) -> OutputFile:
        """Write the footer, and return the file with what the footer says."""
        output = super().finish()
        if not self._describes:
            return output
        return replace(output, statistics=column_statistics(self._parquet.writer.metadata, self._unbounded))

    def write(self, table: pa.Table, *, rows_per_group: int, size: int) -> None:
        """Write row groups of a table of `size` bytes."""
        with explained(self.uri):
            self._parquet.write_table(table, row_group_size=rows_per_group)
        if self._describes:
            self._unbounded.update(with_nan(table))
        self.taken += size
        self.rows += table.num_rows
