"""What the statements of a commit to a PostgreSQL table have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adbc_driver_postgresql import dbapi

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


def quoted(name: str) -> str:
    """Return a name quoted for a statement."""
    return '"' + name.replace('"', '""') + '"'


def only_value(cursor: dbapi.Cursor) -> Any:  # noqa: ANN401 - whatever was asked for
    """Return the first value of the next row, or None without one."""
    row = cursor.fetchone()
    return row and row[0]
