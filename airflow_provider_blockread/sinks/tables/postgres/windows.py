"""The table of windows beside PostgreSQL tables: the row of a window is the marker of its newest change."""

from __future__ import annotations

import json
from dataclasses import dataclass

from adbc_driver_postgresql import dbapi

from airflow_provider_blockread.sinks.protocol import Marker
from airflow_provider_blockread.sinks.tables.format import TableChangedError
from airflow_provider_blockread.sinks.tables.postgres.sql import only_value, quoted

_MAKE = """
CREATE TABLE IF NOT EXISTS {windows} (
    table_name text NOT NULL, window_id text NOT NULL, table_oid oid NOT NULL, ledger text NOT NULL, feed text NOT NULL,
    change integer NOT NULL, files jsonb NOT NULL, schema_changes text NOT NULL, changed_at timestamptz NOT NULL,
    PRIMARY KEY (table_name, window_id)
)"""
_RECORD = """
INSERT INTO {windows} AS held
    (table_name, window_id, table_oid, ledger, feed, change, files, schema_changes, changed_at)
VALUES ($1, $2, $3::bigint::oid, $4, $5, $6::integer, $7::jsonb, $8, now())
ON CONFLICT (table_name, window_id) DO UPDATE SET table_oid = excluded.table_oid, ledger = excluded.ledger,
    feed = excluded.feed, change = excluded.change, files = excluded.files,
    schema_changes = excluded.schema_changes, changed_at = now()
WHERE held.change = $9::integer AND held.table_oid = $10::bigint::oid
RETURNING txid_current()::text"""


@dataclass(frozen=True, kw_only=True)
class Held:
    """The row of a window."""

    oid: int  # of the table for which it was written
    ledger: str
    change: int
    files: frozenset[str]
    schema_changes: str


class Windows:
    """The windows of one table.

    Args:
        schema: the schema of both tables.
        name: the name of the table.
    """

    def __init__(self, schema: str, name: str) -> None:
        self._name = name
        self.quoted = f"{quoted(schema)}.blockread_windows"

    def held(self, cursor: dbapi.Cursor, window: str) -> Held | None:
        """Return the row of a window, or None."""
        if not self._exists(cursor):
            return None
        query = f"SELECT table_oid::bigint, ledger, change, files::text, schema_changes FROM {self.quoted}"  # noqa: S608 - quoted
        cursor.execute(f"{query} WHERE table_name = $1 AND window_id = $2", parameters=(self._name, window))
        row = cursor.fetchone()
        if row is None:
            return None
        oid, ledger, change, files, changes = row
        return Held(oid=oid, ledger=ledger, change=change, files=frozenset(json.loads(files)), schema_changes=changes)

    def published(self, cursor: dbapi.Cursor, oid: int) -> bool:
        """Return whether rows of any window were ever published into the table with this oid."""
        if not self._exists(cursor):
            return False
        query = f"SELECT EXISTS (SELECT FROM {self.quoted} WHERE table_name = $1 AND table_oid = $2::bigint::oid"  # noqa: S608 - quoted
        cursor.execute(f"{query} AND files <> '[]')", parameters=(self._name, oid))
        return bool(only_value(cursor))

    def record(self, cursor: dbapi.Cursor, marker: Marker, now: Held, seen: Held | None) -> str:
        """Write a window's row if it is still as it was seen, which locks it; return the transaction's id.

        Raises:
            TableChangedError: when it is not.
        """
        if not self._exists(cursor):  # else the account would need the right to create tables
            cursor.execute(_MAKE.format(windows=self.quoted))
        files = json.dumps(sorted(now.files))
        row = (self._name, marker.window, now.oid, now.ledger, marker.feed, now.change, files, now.schema_changes)
        last = (-1, 0) if seen is None else (seen.change, seen.oid)
        cursor.execute(_RECORD.format(windows=self.quoted), parameters=(*row, *last))
        version = only_value(cursor)
        if version is None:
            raise TableChangedError
        return str(version)

    def _exists(self, cursor: dbapi.Cursor) -> bool:
        cursor.execute("SELECT to_regclass($1) IS NOT NULL", parameters=(self.quoted,))
        return bool(only_value(cursor))
