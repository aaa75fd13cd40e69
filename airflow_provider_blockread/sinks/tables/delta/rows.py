"""Deletes a window's rows that other writers of a Delta table have moved into other files, by rewriting those files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, Field

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import DeltaSink
from airflow_provider_blockread.sinks.columnar.writer import ParquetWriter
from airflow_provider_blockread.sinks.names import is_data_file, window_prefix
from airflow_provider_blockread.sinks.partitions import text_of
from airflow_provider_blockread.sinks.plain import plain
from airflow_provider_blockread.sinks.tables.delta.places import named_in
from airflow_provider_blockread.sinks.tables.format import WINDOW
from airflow_provider_blockread.storage import Stores, uris

_INSTANT = pa.timestamp("us", "UTC")
_OF_INSTANTS = str(Field.from_arrow(pa.field("at", _INSTANT)).type)


class RowDeletion:
    """Rewrites files of one version without the rows of a window; a later commit names the new files.

    Args:
        stores: opens the table's folder.
        option: tells where the folder is, and how files are written.
        table: the table at that version.
    """

    def __init__(self, stores: Stores, option: DeltaSink, table: DeltaTable) -> None:
        self._stores, self._table = stores, table
        # Plain files: the rows of others are in no order, and may lack the columns that the option names.
        self._option = replace(option, partition_by=(), sort_by=(), encodings={}, codecs={}, on_rewritten="fail")
        self._folder = uris.canonical(option.uri)
        self._written: list[OutputFile] = []
        self._unnamed = set[str]()  # files whose paths the log spells differently from the library
        self.replaced: list[OutputFile] = []

    def rewrite(self, window: str, but: Collection[str]) -> tuple[list[OutputFile], int]:
        """Write new files in place of those with rows of a window; return the new files and the number of rows deleted.

        Args:
            window: the window's id.
            but: files that stay as they are.

        Raises:
            ProofError: when rows of a file were deleted by a deletion vector, which the file itself does not show.
        """
        rows = 0
        for file in self._candidates(window):
            found = 0 if file.uri in but else self._count(file.uri, window, file.partition)
            if not found:
                continue
            self._refuse_vectors(file.uri)
            self._refuse_path(file.uri)
            rows += found
            self.replaced.append(file)
            if WINDOW not in file.partition:
                self._written += [replace(rest, partition=file.partition) for rest in self._rest(file.uri, window)]
        return self._written, rows

    def discard(self) -> None:
        """Remove the new files."""
        for file in self._written:
            self._stores.remove(file.uri)

    def _candidates(self, window: str) -> Iterator[OutputFile]:
        """Yield the files that may hold such rows, according to names and statistics."""
        columns = self._table.metadata().partition_columns
        for found in pa.table(self._table.get_add_actions(flatten=True)).to_pylist():
            name = uris.name_of(found["path"])
            if is_data_file(name, self._option.suffix) and not name.startswith(window_prefix(window)):
                continue  # all of its rows are another window's; the log may hold no bounds of a column behind many
            least, most = found.get(f"min.{WINDOW}"), found.get(f"max.{WINDOW}")
            if (least is None or least <= window) and (most is None or window <= most):
                path = unquote(found["path"])
                uri = path if "://" in path else uris.child(self._folder, path)
                if not found["path"].isascii():
                    self._unnamed.add(uris.canonical(uri))
                values = {name: found[f"partition.{name}"] for name in columns}
                texts = {name: None if value is None else text_of(value) for name, value in values.items()}
                rows = found["num_records"] or 0
                yield OutputFile(uri=uris.canonical(uri), size=found["size_bytes"], rows=rows, partition=texts)

    def _count(self, uri: str, window: str, partition: Mapping[str, str | None]) -> int:
        if partition.get(WINDOW, window) != window:
            return 0
        with self._stores.open_read(uri) as file, pq.ParquetFile(file) as opened:
            if WINDOW in partition:
                return int(opened.metadata.num_rows)
            if WINDOW not in opened.schema_arrow.names:
                return 0
            batches = opened.iter_batches(columns=[WINDOW], use_threads=False)
            return sum(pc.sum(_is_of(batch, window)).as_py() or 0 for batch in batches)

    def _rest(self, uri: str, window: str) -> list[OutputFile]:
        """Write the remaining rows of a file into new files, and return these; empty if no rows remain.

        The files are in the same folder, since some readers take partition values from the names of folders.
        """
        name = uris.child(uris.parent(uri), f"rest-{uuid4().hex}")
        target, named = Target(folder=self._folder), lambda number: f"{name}-{number:04d}.parquet"
        writer = ParquetWriter(self._stores, self._option, named, None, target)
        try:
            with self._stores.open_read(uri) as file, pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as opened:
                schema = self._as_in_table(opened.schema_arrow)
                for batch in opened.iter_batches(use_threads=False):
                    rows = batch.cast(schema)
                    writer.write(rows.filter(pc.invert(_is_of(rows, window))))
            return writer.close()
        except BaseException:
            writer.abort()
            raise

    def _as_in_table(self, rows: pa.Schema) -> pa.Schema:
        """Return the columns of a file with the table's time types: Spark's oldest timestamps state no zone."""
        known = {field.name: str(field.type) for field in self._table.schema().fields}
        types = [_INSTANT if known.get(field.name) == _OF_INSTANTS else plain(field.type) for field in rows]
        return pa.schema([pa.field(name, kind) for name, kind in zip(rows.names, types, strict=True)])

    def _refuse_path(self, uri: str) -> None:
        if uri in self._unnamed:
            msg = (
                f"{uri} is in the table's log by a path that is not escaped, as Spark writes it, so deltalake cannot"
                " remove the file; restore a version of the table that has the window's own files, then retry"
            )
            raise ProofError(msg)

    def _refuse_vectors(self, uri: str) -> None:
        if uri in with_vectors(self._table, self._folder):
            msg = (
                f"{uri} has deleted rows beside those of the window, by a deletion vector; purge the table's vectors"
                " (REORG TABLE ... APPLY (PURGE)), then retry"
            )
            raise ProofError(msg)


def with_vectors(table: DeltaTable, folder: str) -> set[str]:
    """Return the files of a table in a folder of which some rows were deleted by deletion vectors."""
    if "deletionVectors" not in (table.protocol().writer_features or ()):
        return set()
    return {named_in(folder, table, path) for path in pa.table(table.deletion_vectors())["filepath"].to_pylist()}


def _is_of(batch: pa.RecordBatch, window: str) -> pa.BooleanArray:
    return pc.fill_null(pc.equal(batch[WINDOW].cast(pa.string()), window), fill_value=False)
