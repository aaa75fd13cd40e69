"""A table of a PostgreSQL database, through ADBC: a commit is one transaction, which copies the rows of staged files.

Each row has the id of its window. The marker of a change is the window's row in the table
`blockread_windows` of the same schema. It is written first in the transaction, which locks it: of two publishers of a
window, one waits and then finds the other's change. It belongs to the table's current oid: a table that was dropped and
created again under the same name has no windows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import chain

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi

from airflow_provider_blockread.errors import OptionsError, ProofError
from airflow_provider_blockread.options import PostgresSink
from airflow_provider_blockread.sinks.evolution import Comparison
from airflow_provider_blockread.sinks.parquet import read_rows
from airflow_provider_blockread.sinks.protocol import Access, Applied, Change, Marker
from airflow_provider_blockread.sinks.tables.format import WINDOW, Files, TableChangedError
from airflow_provider_blockread.sinks.tables.postgres.connections import Connections
from airflow_provider_blockread.sinks.tables.postgres.errors import explained
from airflow_provider_blockread.sinks.tables.postgres.rows import delete_rows, require_rows
from airflow_provider_blockread.sinks.tables.postgres.rules import lacking_rights, unfollowed_rule
from airflow_provider_blockread.sinks.tables.postgres.sql import COLUMNS, Column, only_value, quoted
from airflow_provider_blockread.sinks.tables.postgres.types import column_type, fits, sent, widens
from airflow_provider_blockread.sinks.tables.postgres.windows import Held, Windows
from airflow_provider_blockread.storage import Stores


class PostgresTable:
    """A table in a database, by name.

    Args:
        stores: opens the staged files.
        option: names table and database.
        access: the fields of the database's connection, by connection id.
    """

    field_ids = None

    def __init__(self, stores: Stores, option: PostgresSink, access: Access) -> None:
        own = access.get(option.postgres_conn_id or "", {})
        self.uri = option.place
        self._stores, self.option = stores, option
        self._connections = Connections(own.get("uri", option.url or ""))
        self.schema, self.name = option.uri.split(".")
        self.quoted = f"{quoted(self.schema)}.{quoted(self.name)}"
        self.windows = Windows(self.schema, self.name)

    def location(self) -> None:
        """Return None, because tasks stage files in the work area."""

    def check_creation(self) -> None:
        """Refuse an account that may not create the table."""
        with self.transaction() as cursor:
            if lacks := self.lacking_rights(cursor):
                raise OptionsError(lacks)

    def load(self) -> _State | None:
        """Return the newest state, or None if the table does not exist."""
        with self.transaction() as cursor:
            oid = self.oid(cursor)
            if oid is None:
                return None
            return _State(self, oid, self.columns(cursor), self.kind(cursor, oid), self.lacking_rights(cursor))

    def create(self, files: Files, marker: Marker) -> Applied:
        """Create the table, with its schema if needed, and with an index on the window of its rows."""
        rows = files.schema or pa.schema([])
        columns = [f"{quoted(field.name)} {column_type(field.type)}" for field in rows]
        with self.transaction() as cursor:
            cursor.execute("SELECT to_regnamespace($1) IS NULL", parameters=(quoted(self.schema),))
            if only_value(cursor):
                cursor.execute(f"CREATE SCHEMA {quoted(self.schema)}")
            cursor.execute(f"CREATE TABLE {self.quoted} ({', '.join([*columns, f'{WINDOW} text NOT NULL'])})")
            oid = self.oid(cursor) or 0
            made = _State(self, oid, self.columns(cursor), self.kind(cursor, oid))
            made.held[marker.window] = self.windows.held(cursor, marker.window)
            version = made.write(cursor, files, marker)
            cursor.execute(
                f"CREATE INDEX ON {self.quoted} USING brin ({WINDOW} text_bloom_ops) WITH (autosummarize = on)"
            )
        return Applied(version=version)

    def oid(self, cursor: dbapi.Cursor) -> int | None:
        """Return the oid of the table, or None if it does not exist."""
        cursor.execute("SELECT to_regclass($1)::oid::bigint", parameters=(self.quoted,))
        found: int | None = only_value(cursor)
        return found

    def kind(self, cursor: dbapi.Cursor, oid: int) -> str:
        """Return what is there by the name of the table: the letter of a table, a view or the like."""
        cursor.execute("SELECT relkind::text FROM pg_class WHERE oid = $1::bigint::oid", parameters=(oid,))
        return str(only_value(cursor))

    def lacking_rights(self, cursor: dbapi.Cursor) -> str:
        """Return in words what keeps the account from publishing, or an empty string."""
        return lacking_rights(cursor, self.quoted, self.windows.quoted, quoted(self.schema), name=self.uri)

    def columns(self, cursor: dbapi.Cursor) -> dict[str, Column]:
        """Return the columns of the table, by name."""
        cursor.execute(COLUMNS, parameters=(self.quoted,))
        return {
            name: Column(type=kind, needed=needed, indexed=indexed, computed=computed)
            for name, kind, needed, indexed, computed in cursor.fetchall()
        }

    def copy(self, cursor: dbapi.Cursor, files: Files, window: str, columns: dict[str, Column]) -> None:
        """Append the rows of files to the table."""
        rows = sent(files.schema, {name: column.type for name, column in columns.items()})
        schema = rows.append(pa.field(WINDOW, pa.string()))
        failed: list[Exception] = []  # errors while reading, of which the driver would keep only the text

        def batches() -> Iterator[pa.RecordBatch]:
            try:
                for batch in chain.from_iterable(read_rows(self._stores, output, rows.names) for output in files.add):
                    held = [column.cast(kind) for column, kind in zip(batch.columns, rows.types, strict=True)]
                    of_window = pa.repeat(window, batch.num_rows)
                    yield pa.RecordBatch.from_arrays([*held, of_window], schema=schema)
            except Exception as error:
                failed.append(error)
                raise

        reader = pa.RecordBatchReader.from_batches(schema, batches())
        try:
            cursor.adbc_ingest(self.name, reader, mode="append", db_schema_name=self.schema)
        except Error as error:
            raise (failed or [error])[0] from error

    @contextmanager
    def transaction(self) -> Iterator[dbapi.Cursor]:
        """Yield a transaction that is committed at the end of the body.

        Raises:
            TableChangedError: when another writer was first; nothing was changed then.
        """
        try:
            with self._connections.transaction() as cursor:
                yield cursor
        except Error as error:
            raise explained(self.uri, error) from error


class _State:
    """One state of the table."""

    field_ids = None
    needed = ()  # the database itself checks for nulls

    def __init__(self, table: PostgresTable, oid: int, columns: dict[str, Column], kind: str, lacks: str = "") -> None:
        self._table, self._oid, self._columns, self._kind, self._lacks = table, oid, columns, kind, lacks
        self.columns = tuple(columns)
        self.held: dict[str, Held | None] = {}  # by window, as it was found

    @cached_property
    def version(self) -> str:
        """The number of a transaction that sees this state."""
        with self._table.transaction() as cursor:
            cursor.execute("SELECT txid_current()::text")
            return str(only_value(cursor))

    def marker(self, marker: Marker) -> int | None:
        """Return the number of the window's newest change from its row, or None without one."""
        held = self._held(marker)
        return held.change if held is not None and held.oid == self._oid else None

    def live(self, files: Collection[str]) -> set[str]:
        """Return which of these files the table's rows come from."""
        return {
            uri for held in self.held.values() if held and held.oid == self._oid for uri in held.files
        }.intersection(files)

    def is_ours(self) -> bool:
        """Return whether a feed has published rows."""
        with self._table.transaction() as cursor:
            return self._table.windows.published(cursor, self._oid)

    def refuse(self, schema: pa.Schema | None) -> str:
        """Return in words which demand of the table these rows do not meet, or an empty string."""
        table = self._table
        rows = [] if schema is None else schema.names
        rule = unfollowed_rule(self._kind, self._columns, rows, name=table.uri, quoted=table.quoted)
        return rule or self._lacks or self._compared().refuse(schema)

    def schema_changes(self, marker: Marker) -> str:
        """Return the schema changes in the window's row, if the row is of this change."""
        held = self._held(marker)
        return held.schema_changes if held is not None and held.change == marker.number else ""

    def _compared(self) -> Comparison[str]:
        return Comparison(
            table=self._table.uri,
            columns={name: column.type for name, column in self._columns.items()},
            needed=[name for name, column in self._columns.items() if column.needed and name != WINDOW],
            evolves=self._table.option.evolves,
            fits=lambda field, held: fits(field.type, held),
            widens=lambda field, held: widens(held, field.type),
            folds_case=not self._table.option.case_sensitive,
        )

    def check(self, files: Files) -> None:
        """Refuse nothing: the database does, in the transaction."""

    def commit(self, files: Files, marker: Marker) -> Applied:
        """Replace the window's rows in one transaction, if table and window have not changed since they were loaded."""
        evolution = self._compared().evolution(files.schema)
        mode = "ACCESS" if evolution else "ROW"  # nobody else may change the columns meanwhile
        with self._table.transaction() as cursor:
            if evolution:
                cursor.execute("SET LOCAL lock_timeout = '30s'")  # others wait behind this one
            cursor.execute(f"LOCK TABLE {self._table.quoted} IN {mode} EXCLUSIVE MODE")
            if (self._table.oid(cursor), self._table.columns(cursor)) != (self._oid, self._columns):
                raise TableChangedError
            if evolution:
                added = [f"ADD COLUMN {quoted(one.name)} {column_type(one.type)}" for one in evolution.added]
                wider = [f"ALTER COLUMN {quoted(one.name)} TYPE {column_type(one.type)}" for one in evolution.widened]
                cursor.execute(f"ALTER TABLE {self._table.quoted} {', '.join([*added, *wider])}")
                self._columns = self._table.columns(cursor)
            version = self.write(cursor, files, marker, str(evolution))
        return Applied(version=version, schema_changes=str(evolution))

    def write(self, cursor: dbapi.Cursor, files: Files, marker: Marker, evolved: str = "") -> str:
        """Record the change, delete the window's rows and copy those of its files; return the transaction's id."""
        table, held = self._table, self._held(marker)
        stays = marker.change is Change.TAKE_BACK and not files.remove  # rows of a lost generation were never committed
        names = held.files if held is not None and stays else {file.uri for file in files.add}
        now = Held(
            oid=self._oid, ledger=marker.ledger, change=marker.number, files=frozenset(names), schema_changes=evolved
        )
        version = table.windows.record(cursor, marker, now, held)
        if not stays:
            delete_rows(cursor, table.quoted, marker.window, name=table.uri)
        if files.add:
            table.copy(cursor, files, marker.window, self._columns)
            rows = sum(file.rows for file in files.add)
            require_rows(cursor, table.quoted, marker.window, rows, name=table.uri)
        return version

    def _held(self, marker: Marker) -> Held | None:
        if marker.window not in self.held:
            with self._table.transaction() as cursor:
                self.held[marker.window] = self._table.windows.held(cursor, marker.window)
        held = self.held[marker.window]
        if held is not None and held.ledger != marker.ledger:
            msg = (
                f"{self._table.uri} has rows of window {marker.window} that ledger {held.ledger!r} published, but this"
                f" is ledger {marker.ledger}; use that ledger, or another table"
            )
            raise ProofError(msg)
        return held
