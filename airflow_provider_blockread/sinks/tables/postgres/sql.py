"""SQL statements of the commit to a PostgreSQL table, and the rows that they return."""

from __future__ import annotations

from dataclasses import dataclass

#: Creates the table of windows.
MAKE_WINDOWS = """
CREATE TABLE IF NOT EXISTS {windows} (
    table_name text NOT NULL, window_id text NOT NULL, table_oid oid NOT NULL, ledger text NOT NULL, feed text NOT NULL,
    change integer NOT NULL, files jsonb NOT NULL, schema_changes text NOT NULL, changed_at timestamptz NOT NULL,
    PRIMARY KEY (table_name, window_id)
)"""
#: Records a change of a window if its row is still as it was last seen.
RECORD = """
INSERT INTO {windows} AS held
    (table_name, window_id, table_oid, ledger, feed, change, files, schema_changes, changed_at)
VALUES ($1, $2, $3::bigint::oid, $4, $5, $6::integer, $7::jsonb, $8, now())
ON CONFLICT (table_name, window_id) DO UPDATE SET table_oid = excluded.table_oid, ledger = excluded.ledger,
    feed = excluded.feed, change = excluded.change, files = excluded.files,
    schema_changes = excluded.schema_changes, changed_at = now()
WHERE held.change = $9::integer AND held.table_oid = $10::bigint::oid
RETURNING txid_current()::text"""
#: Lists the columns of a table: name, type, whether rows must have it, whether an index begins with it, and whether the
#: table computes its values.
COLUMNS = """
SELECT attname::text, format_type(atttypid, atttypmod), attnotnull AND NOT atthasdef AND attidentity = '',
    EXISTS (SELECT FROM pg_index WHERE indrelid = attrelid AND indkey[0] = attnum AND indisvalid AND indpred IS NULL),
    attgenerated <> ''
FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped ORDER BY attnum"""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the table."""

    type: str
    needed: bool  # must not be null, and has no default
    indexed: bool
    computed: bool


@dataclass(frozen=True, kw_only=True)
class Held:
    """The row of a window in the table of windows."""

    oid: int  # of the table for which it was written
    ledger: str
    change: int
    files: frozenset[str]
    schema_changes: str


def quoted(name: str) -> str:
    """Return a name quoted for a statement."""
    return '"' + name.replace('"', '""') + '"'
