"""Publishing into a table of rows: one transaction replaces a window's rows with those of its staged files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pyarrow as pa

from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.sinks.columnar.writer import ParquetWriter
from airflow_provider_blockread.sinks.conform import refuse_nul
from airflow_provider_blockread.sinks.protocol import Earlier, Marker, Writer
from airflow_provider_blockread.sinks.tables.files import require_files
from airflow_provider_blockread.sinks.tables.format import WINDOW, Files, Snapshot
from airflow_provider_blockread.sinks.tables.postgres.types import misfit
from airflow_provider_blockread.sinks.tables.table import Table
from airflow_provider_blockread.storage.at_once import remove_all


class RowTable(Table):
    """A sink for rows in a database; files are staged in the work area, and removed once their rows are published."""

    own_columns = (WINDOW,)
    _misfit = staticmethod(misfit)

    def _writer(self, name: Callable[[int], str], target: Target, schema: pa.Schema | None) -> Writer:
        del target
        return _RowWriter(self._stores, self._option, name, schema)

    def sweep(self, window: str, keep: Collection[str], earlier: Collection[str] = ()) -> list[str]:
        """Remove the staged files, whose rows are in the table or are not needed, and return their URIs."""
        del window
        remove_all(self._stores, sorted({*keep, *earlier}))
        return []

    def _changes(
        self, snapshot: Snapshot | None, new: Sequence[OutputFile], earlier: Earlier, marker: Marker, at: int | None
    ) -> Files:
        """Return all files: together they replace all rows of the window."""
        del marker, at
        require_files(self._stores, self.uri, new)
        schema = self._schema(new, snapshot)
        known = earlier.by_uri
        live = set() if snapshot is None else snapshot.live(known)
        return Files(add=new, remove=[known[uri] for uri in sorted(live)], schema=schema)


class _RowWriter(ParquetWriter):
    """Writes staged files with rows that a PostgreSQL table can hold."""

    def _misfit(self, schema: pa.Schema) -> str:
        return misfit(schema) or super()._misfit(schema)

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Add a batch; refuse a text with a NUL, which the server does not accept, with an error that names the row."""
        refuse_nul(batch, "PostgreSQL does")
        super().write(batch, block)
