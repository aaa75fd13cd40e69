"""A table of a PostgreSQL database, through ADBC: a commit is one transaction, which copies the rows of staged files.

Each row has the id of its window. The marker of a change is the window's row in the table
`blockread_windows` of the same schema. It is written first in the transaction, which locks it: of two publishers of a
window, one waits and then finds the other's change. It belongs to the table's current oid: a table that was dropped and
created again under the same name has no windows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Any

import pyarrow as pa
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.options import PostgresSink
from airflow_provider_blockread.sinks.evolution import Comparison
from airflow_provider_blockread.sinks.parquet import read_rows
from airflow_provider_blockread.sinks.protocol import Access, Applied, Change, Marker
from airflow_provider_blockread.sinks.tables.format import WINDOW, Files, TableChangedError
from airflow_provider_blockread.sinks.tables.postgres.connections import Connections
from airflow_provider_blockread.sinks.tables.postgres.errors import explained
from airflow_provider_blockread.sinks.tables.postgres.rows import delete_rows, require_rows
from airflow_provider_blockread.sinks.tables.postgres.rules import unfollowed_rule
from airflow_provider_blockread.sinks.tables.postgres.sql import COLUMNS, MAKE_WINDOWS, RECORD, Column, Held, quoted
from airflow_provider_blockread.sinks.tables.postgres.types import column_type, fits, sent, widens
from airflow_provider_blockread.storage import Stores

_WINDOWS = "blockread_windows"


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
        self.windows = f"{quoted(self.schema)}.{_WINDOWS}"

    def location(self) -> None:
        """Return None, because tasks stage files in the work area."""

    def check_options(self) -> None:
        """Refuse nothing: a table is created by columns alone."""

    def load(self) -> _State | None:
        """Return the newest state, or None if the table does not exist."""
        with self.transaction() as cursor:
            oid = self.oid(cursor)
            return None if oid is None else _State(self, oid, self.columns(cursor), self.kind(cursor, oid))

    def create(self, files: Files, marker: Marker) -> Applied:
        """Create the table, with its schema if needed, and with an index on the window of its rows."""
        rows = files.schema or pa.schema([])
        columns = [f"{quoted(field.name)} {column_type(field.type)}" for field in rows]
        with self.transaction() as cursor:
            cursor.execute("SELECT to_regnamespace($1) IS NULL", parameters=(quoted(self.schema),))
            if _one(cursor):
                cursor.execute(f"CREATE SCHEMA {quoted(self.schema)}")
            cursor.execute(f"CREATE TABLE {self.quoted} ({', '.join([*columns, f'{WINDOW} text NOT NULL'])})")
            oid = self.oid(cursor) or 0
            made = _State(self, oid, self.columns(cursor), self.kind(cursor, oid))
            made.held[marker.window] = self.held(cursor, marker.window)
            version = made.write(cursor, files, marker)
            cursor.execute(
                f"CREATE INDEX ON {self.quoted} USING brin ({WINDOW} text_bloom_ops) WITH (autosummarize = on)"
            )
        return Applied(version=version)

    def oid(self, cursor: dbapi.Cursor) -> int | None:
        """Return the oid of the table, or None if it does not exist."""
        cursor.execute("SELECT to_regclass($1)::oid::bigint", parameters=(self.quoted,))
        found: int | None = _one(cursor)
        return found

    def kind(self, cursor: dbapi.Cursor, oid: int) -> str:
        """Return what is there by the name of the table: the letter of a table, a view or the like."""
        cursor.execute("SELECT relkind::text FROM pg_class WHERE oid = $1::bigint::oid", parameters=(oid,))
        return str(_one(cursor))

    def columns(self, cursor: dbapi.Cursor) -> dict[str, Column]:
        """Return the columns of the table, by name."""
        cursor.execute(COLUMNS, parameters=(self.quoted,))
        return {
            name: Column(type=kind, needed=needed, indexed=indexed, computed=computed)
            for name, kind, needed, indexed, computed in cursor.fetchall()
        }

    def held(self, cursor: dbapi.Cursor, window: str) -> Held | None:
        """Return a window's row in the table of windows, or None."""
        cursor.execute("SELECT to_regclass($1) IS NULL", parameters=(self.windows,))
        if _one(cursor):
            return None
        query = f"SELECT table_oid::bigint, ledger, change, files::text, schema_changes FROM {self.windows}"  # noqa: S608 - quoted
        cursor.execute(f"{query} WHERE table_name = $1 AND window_id = $2", parameters=(self.name, window))
        row = cursor.fetchone()
        if row is None:
            return None
        oid, ledger, change, files, changes = row
        return Held(oid=oid, ledger=ledger, change=change, files=frozenset(json.loads(files)), schema_changes=changes)

    def has_windows(self, oid: int) -> bool:
        """Return whether rows of any window were ever published into the table with this oid."""
        with self.transaction() as cursor:
            cursor.execute("SELECT to_regclass($1) IS NULL", parameters=(self.windows,))
            if _one(cursor):
                return False
            query = f"SELECT EXISTS (SELECT FROM {self.windows} WHERE table_name = $1 AND table_oid = $2::bigint::oid"  # noqa: S608 - quoted
            cursor.execute(f"{query} AND files <> '[]')", parameters=(self.name, oid))
            return bool(_one(cursor))

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

    def __init__(self, table: PostgresTable, oid: int, columns: dict[str, Column], kind: str) -> None:
        self._table, self._oid, self._columns, self._kind = table, oid, columns, kind
        self.columns = tuple(columns)
        self.held: dict[str, Held | None] = {}  # by window, as it was found

    @cached_property
    def version(self) -> str:
        """The number of a transaction that sees this state."""
        with self._table.transaction() as cursor:
            cursor.execute("SELECT txid_current()::text")
            return str(_one(cursor))

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
        return self._table.has_windows(self._oid)

    def refuse(self, schema: pa.Schema | None) -> str:
        """Return in words which demand of the table these rows do not meet, or an empty string."""
        table = self._table
        rows = [] if schema is None else schema.names
        rule = unfollowed_rule(self._kind, self._columns, rows, name=table.uri, quoted=table.quoted)
        return rule or self._compared().refuse(schema)

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
        names = held.files if held is not None and stays else [file.uri for file in files.add]
        row = (table.name, marker.window, self._oid, marker.ledger, marker.feed, marker.number)
        seen = (-1, 0) if held is None else (held.change, held.oid)
        cursor.execute(MAKE_WINDOWS.format(windows=table.windows))
        cursor.execute(
            RECORD.format(windows=table.windows), parameters=(*row, json.dumps(sorted(names)), evolved, *seen)
        )
        version = _one(cursor)
        if version is None:
            raise TableChangedError
        if not stays:
            delete_rows(cursor, table.quoted, marker.window, name=table.uri)
        if files.add:
            table.copy(cursor, files, marker.window, self._columns)
            rows = sum(file.rows for file in files.add)
            require_rows(cursor, table.quoted, marker.window, rows, name=table.uri)
        return str(version)

    def _held(self, marker: Marker) -> Held | None:
        if marker.window not in self.held:
            with self._table.transaction() as cursor:
                self.held[marker.window] = self._table.held(cursor, marker.window)
        held = self.held[marker.window]
        if held is not None and held.ledger != marker.ledger:
            msg = (
                f"{self._table.uri} has rows of window {marker.window} that ledger {held.ledger!r} published, but this"
                f" is ledger {marker.ledger}; use that ledger, or another table"
            )
            raise ProofError(msg)
        return held


def _one(cursor: dbapi.Cursor) -> Any:  # noqa: ANN401 - whatever was asked for
    row = cursor.fetchone()
    return row and row[0]
