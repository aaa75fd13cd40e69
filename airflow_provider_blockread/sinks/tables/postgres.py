"""A table of a PostgreSQL database, through ADBC: a commit is one transaction, which copies the rows of staged files.

Each row says by its id of which window it is. The marker of a change is the window's row in the table
`blockread_windows` of the same schema, written first in the transaction: it is locked then, so that of two publishers
of a window one waits, and finds the other's change. It holds for the table as it is: one that was dropped and made
again under the same name has no windows.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from adbc_driver_manager import Error
from adbc_driver_postgresql import dbapi

from airflow_provider_blockread.errors import OptionsError, ProofError, TransientError
from airflow_provider_blockread.options import PostgresSink
from airflow_provider_blockread.sinks.protocol import Access, Change, Marker
from airflow_provider_blockread.sinks.tables.format import Files, TableChangedError
from airflow_provider_blockread.sinks.tables.postgres_types import WINDOW, column_type, fits, sent
from airflow_provider_blockread.storage import Stores

_WINDOWS = "blockread_windows"
_MAKE_WINDOWS = """
CREATE TABLE IF NOT EXISTS {windows} (
    table_name text NOT NULL, window_id text NOT NULL, table_oid oid NOT NULL, ledger text NOT NULL, feed text NOT NULL,
    change integer NOT NULL, files jsonb NOT NULL, changed_at timestamptz NOT NULL,
    PRIMARY KEY (table_name, window_id)
)"""
_RECORD = """
INSERT INTO {windows} AS held (table_name, window_id, table_oid, ledger, feed, change, files, changed_at)
VALUES ($1, $2, $3::bigint::oid, $4, $5, $6::integer, $7::jsonb, now())
ON CONFLICT (table_name, window_id) DO UPDATE SET table_oid = excluded.table_oid, ledger = excluded.ledger,
    feed = excluded.feed, change = excluded.change, files = excluded.files, changed_at = now()
WHERE held.change = $8::integer AND held.table_oid = $9::bigint::oid
RETURNING txid_current()::text"""
_COLUMNS = """
SELECT attname::text, format_type(atttypid, atttypmod), attnotnull AND NOT atthasdef AND attidentity = '',
    EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid AND indkey[0] = attnum AND indisvalid AND indpred IS NULL)
FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""

_LOST_RACE = {"40001", "40P01", "42P07", "42P01"}  # serialization, deadlock; a table that was made or dropped just now
_ROWS = ("22", "23")  # classes of errors about values and constraints
_SETUP = ("42", "28", "3D", "3F")  # about names, rights and databases


@dataclass(frozen=True, kw_only=True)
class _Column:
    type: str
    needed: bool  # has no default, and must not be null
    indexed: bool


@dataclass(frozen=True, kw_only=True)
class _Held:
    """The row of a window in the table of windows."""

    oid: int  # of the table that it was written for
    ledger: str
    change: int
    files: frozenset[str]


class PostgresTable:
    """The table of a name in a database.

    Args:
        stores: open the staged files.
        option: names table and database.
        access: what the database's connection holds.
    """

    def __init__(self, stores: Stores, option: PostgresSink, access: Access) -> None:
        own = access.get(option.postgres_conn_id or "", {})
        self.uri = option.place
        self._stores = stores
        self._url = own.get("uri", option.url or "")
        self.schema, self.name = option.uri.split(".")
        self.quoted = f"{_quoted(self.schema)}.{_quoted(self.name)}"
        self.windows = f"{_quoted(self.schema)}.{_WINDOWS}"

    def location(self) -> None:
        """Return None: tasks stage files in the work area."""

    def load(self) -> _State | None:
        """Return the newest state; None if the table is not there."""
        with self.transaction() as cursor:
            oid = self.oid(cursor)
            return None if oid is None else _State(self, oid, self.columns(cursor))

    def create(self, files: Files, marker: Marker) -> str:
        """Make the table, and its schema, with an index by which the rows of a window are found."""
        rows = files.schema or pa.schema([])
        columns = [f"{_quoted(field.name)} {column_type(field.type)}" for field in rows]
        with self.transaction() as cursor:
            cursor.execute("SELECT to_regnamespace($1) IS NULL", parameters=(_quoted(self.schema),))
            if _one(cursor):
                cursor.execute(f"CREATE SCHEMA {_quoted(self.schema)}")
            cursor.execute(f"CREATE TABLE {self.quoted} ({', '.join([*columns, f'{WINDOW} text NOT NULL'])})")
            made = _State(self, self.oid(cursor) or 0, self.columns(cursor))
            version = made.write(cursor, files, marker)
            cursor.execute(
                f"CREATE INDEX ON {self.quoted} USING brin ({WINDOW} text_bloom_ops) WITH (autosummarize = on)"
            )
        return version

    def oid(self, cursor: dbapi.Cursor) -> int | None:
        """Return the number of the table in the database; None if it is not there."""
        cursor.execute("SELECT to_regclass($1)::oid::bigint", parameters=(self.quoted,))
        found: int | None = _one(cursor)
        return found

    def columns(self, cursor: dbapi.Cursor) -> dict[str, _Column]:
        """Return the columns of the table."""
        cursor.execute(_COLUMNS, parameters=(self.quoted,))
        return {
            name: _Column(type=kind, needed=needed, indexed=indexed)
            for name, kind, needed, indexed in cursor.fetchall()
        }

    def held(self, cursor: dbapi.Cursor, window: str) -> _Held | None:
        """Return what the table of windows has of a window."""
        cursor.execute("SELECT to_regclass($1) IS NULL", parameters=(self.windows,))
        if _one(cursor):
            return None
        query = f"SELECT table_oid::bigint, ledger, change, files::text FROM {self.windows} WHERE table_name = $1"  # noqa: S608 - quoted
        cursor.execute(f"{query} AND window_id = $2", parameters=(self.name, window))
        row = cursor.fetchone()
        return row and _Held(oid=row[0], ledger=row[1], change=row[2], files=frozenset(json.loads(row[3])))

    def has_windows(self, oid: int) -> bool:
        """Return whether rows of any window were ever published into the table."""
        with self.transaction() as cursor:
            cursor.execute("SELECT to_regclass($1) IS NULL", parameters=(self.windows,))
            if _one(cursor):
                return False
            query = f"SELECT EXISTS (SELECT FROM {self.windows} WHERE table_name = $1 AND table_oid = $2::bigint::oid"  # noqa: S608 - quoted
            cursor.execute(f"{query} AND files <> '[]')", parameters=(self.name, oid))
            return bool(_one(cursor))

    def rows(self, files: Files, window: str, columns: dict[str, _Column]) -> pa.RecordBatchReader:
        """Return the rows of files as they are sent."""
        rows = sent(files.schema, {name: column.type for name, column in columns.items()})
        schema = rows.append(pa.field(WINDOW, pa.string()))

        def batches() -> Iterator[pa.RecordBatch]:
            for output in files.add:
                with self._stores.open_read(output.uri) as file, pq.ParquetFile(file) as opened:
                    for batch in opened.iter_batches(columns=rows.names):
                        of_window = pa.repeat(window, batch.num_rows)
                        held = [column.cast(kind) for column, kind in zip(batch.columns, rows.types, strict=True)]
                        yield pa.RecordBatch.from_arrays([*held, of_window], schema=schema)

        return pa.RecordBatchReader.from_batches(schema, batches())

    @contextmanager
    def transaction(self) -> Iterator[dbapi.Cursor]:
        """Give a transaction that is committed at the end of the body.

        Raises:
            TableChangedError: when another writer was first; nothing was changed then.
        """
        try:
            with dbapi.connect(self._url) as connection, connection.cursor() as cursor:
                yield cursor
                connection.commit()
        except Error as error:
            raise self._explained(error) from error

    def _explained(self, error: Error) -> Exception:
        code, why = error.sqlstate or "", _first_line(error)
        if code in _LOST_RACE or "pg_type_typname_nsp_index" in str(error):
            return TableChangedError()
        if code.startswith(_ROWS):
            msg = f"{self.uri} does not take the rows ({why}); change the table, or the rows in the function, and retry"
            return ProofError(msg)
        if code.startswith(_SETUP):
            msg = f"{self.uri} refuses this account or what it asks for ({why}); grant what is missing, then retry"
            return OptionsError(msg)
        why = why if code else type(error).__name__  # libpq's text may quote a URL with its password
        msg = f"{self.uri}: the database cannot be reached or is not able to answer ({why}); retry when it is"
        return TransientError(msg)


class _State:
    """The table as it was found."""

    def __init__(self, table: PostgresTable, oid: int, columns: dict[str, _Column]) -> None:
        self._table, self._oid, self._columns = table, oid, columns
        self._windows: dict[str, _Held | None] = {}

    @cached_property
    def version(self) -> str:
        """The number of a transaction that sees this state."""
        with self._table.transaction() as cursor:
            cursor.execute("SELECT txid_current()::text")
            return str(_one(cursor))

    def marker(self, marker: Marker) -> int | None:
        """Return the number in the window's row."""
        held = self._held(marker)
        return held.change if held is not None and held.oid == self._oid else None

    def live(self, files: Collection[str]) -> set[str]:
        """Return which of these files the rows of their windows are from."""
        return {
            uri for held in self._windows.values() if held and held.oid == self._oid for uri in held.files
        }.intersection(files)

    def is_ours(self) -> bool:
        """Return whether a feed has published rows."""
        return self._table.has_windows(self._oid)

    def refuse(self, schema: pa.Schema) -> str:
        """Return in words what the table demands of rows, and these do not fulfil."""
        name, held = self._table.uri, self._columns
        of_window = held.get(WINDOW)
        if of_window is None or of_window.type != "text" or not of_window.indexed:
            return (
                f"{name} needs an indexed column {WINDOW} of type text, by which the rows of a window are found; run"
                f" ALTER TABLE {self._table.quoted} ADD COLUMN IF NOT EXISTS {WINDOW} text; CREATE INDEX ON"
                f" {self._table.quoted} USING brin ({WINDOW} text_bloom_ops);"
            )
        for field in schema:
            if field.name not in held:
                return f"{name} has no column {field.name!r}; add it to the table, or leave it out of the output"
            if not fits(field.type, held[field.name].type):
                of_table = held[field.name].type
                return f"{name} has column {field.name!r} as {of_table}, not {field.type}; cast it to the table's type"
        needed = [found for found, column in held.items() if column.needed and found not in {*schema.names, WINDOW}]
        return f"{name} needs column {needed[0]!r}, which may not be null; add it to the output" if needed else ""

    def commit(self, files: Files, marker: Marker) -> str:
        """Replace the window's rows in one transaction, if table and window are still as they were found."""
        with self._table.transaction() as cursor:
            cursor.execute(f"LOCK TABLE {self._table.quoted} IN ROW EXCLUSIVE MODE")  # its columns stay as they are
            if (self._table.oid(cursor), self._table.columns(cursor)) != (self._oid, self._columns):
                raise TableChangedError
            return self.write(cursor, files, marker)

    def write(self, cursor: dbapi.Cursor, files: Files, marker: Marker) -> str:
        """Record the change, remove the window's rows and copy those of its files."""
        table, held = self._table, self._held(marker)
        stays = marker.change is Change.TAKE_BACK and not files.remove  # what was lost never came
        names = held.files if held is not None and stays else [file.uri for file in files.add]
        row = (table.name, marker.window, self._oid, marker.ledger, marker.feed, marker.number)
        seen = (-1, 0) if held is None else (held.change, held.oid)
        cursor.execute(_MAKE_WINDOWS.format(windows=table.windows))
        cursor.execute(_RECORD.format(windows=table.windows), parameters=(*row, json.dumps(sorted(names)), *seen))
        version = _one(cursor)
        if version is None:
            raise TableChangedError
        if not stays:
            cursor.execute(f"DELETE FROM {table.quoted} WHERE {WINDOW} = $1", parameters=(marker.window,))  # noqa: S608 - quoted
        if files.add:
            rows = table.rows(files, marker.window, self._columns)
            cursor.adbc_ingest(table.name, rows, mode="append", db_schema_name=table.schema)
        return str(version)

    def _held(self, marker: Marker) -> _Held | None:
        if marker.window not in self._windows:
            with self._table.transaction() as cursor:
                self._windows[marker.window] = self._table.held(cursor, marker.window)
        held = self._windows[marker.window]
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


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _first_line(error: Error) -> str:
    """Return what the server says, without what the driver says around it."""
    text = str(error).partition("ERROR:")[2] or str(error)
    return text.strip().partition("\n")[0]
