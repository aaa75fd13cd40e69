"""What a table and an account of PostgreSQL need for a commit, so that others are refused before a window is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adbc_driver_postgresql import dbapi

from airflow_provider_blockread.sinks.tables.format import WINDOW
from airflow_provider_blockread.sinks.tables.postgres.sql import Column
from airflow_provider_blockread.sinks.tables.postgres.types import takes_rows

#: What else may have the name of a table, by the letter of its kind.
_NO_TABLES = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence"}
#: Returns the statements that grant this account what it lacks to publish into table $1 of schema $3, whose table of
#: windows is $2, and whether policies hide rows from it. A right on any column passes: the commit knows which it needs.
_LACKS = """
SELECT string_agg(format('GRANT %s ON %s TO %I', needs, place, current_user), '; ' ORDER BY place),
    coalesce(row_security_active(to_regclass($1)), FALSE)
FROM (
    SELECT string_agg(need, ', ') AS needs, place FROM (VALUES
        ('SELECT', $1, has_any_column_privilege(to_regclass($1), 'SELECT')),
        ('INSERT', $1, has_any_column_privilege(to_regclass($1), 'INSERT')),
        ('SELECT', $2, has_table_privilege(to_regclass($2), 'SELECT')),
        ('INSERT', $2, has_table_privilege(to_regclass($2), 'INSERT')),
        ('UPDATE', $2, has_table_privilege(to_regclass($2), 'UPDATE')),
        ('CREATE', 'SCHEMA ' || $3, has_schema_privilege(to_regnamespace($3), 'CREATE')
            OR (to_regclass($1) IS NOT NULL AND to_regclass($2) IS NOT NULL)),
        ('CREATE', format('DATABASE %I', current_database()),
            to_regnamespace($3) IS NOT NULL OR has_database_privilege(current_database(), 'CREATE'))
    ) AS needed (need, place, granted) WHERE NOT granted GROUP BY place
) AS lacking"""


def unfollowed_rule(kind: str, columns: Mapping[str, Column], rows: Sequence[str], *, name: str, quoted: str) -> str:
    """Return in words why no rows of a window can be copied there, or an empty string if they can.

    Args:
        kind: the letter of what it is.
        columns: its columns, by name.
        rows: the names of the columns of rows.
        name: its name in messages.
        quoted: its name in statements.
    """
    if kind in _NO_TABLES:
        return f"{name} is {_NO_TABLES[kind]}, into which no rows are copied; name a table"
    of_window = columns.get(WINDOW)
    if of_window is None or of_window.type != "text" or not of_window.indexed:
        return (
            f"{name} needs an indexed column {WINDOW} of type text, by which the rows of a window are found; run"
            f" ALTER TABLE {quoted} ADD COLUMN IF NOT EXISTS {WINDOW} text; CREATE INDEX ON"
            f" {quoted} USING brin ({WINDOW} text_bloom_ops);"
        )
    for column in (column for column in rows if column in columns):
        if columns[column].computed:
            return f"{name} computes the values of its column {column!r}; leave it out of the output"
        if not takes_rows(columns[column].type):
            return (
                f"{name} has column {column!r} as {columns[column].type}, into which no rows are copied; rename it in"
                " the output, to a column of type text from which the table computes the other (GENERATED ALWAYS AS)"
            )
    return ""


def lacking_rights(cursor: dbapi.Cursor, table: str, windows: str, schema: str, *, name: str) -> str:
    """Return in words what keeps this account from publishing, or an empty string if nothing does.

    Args:
        cursor: of a transaction.
        table: the table, quoted.
        windows: the table of windows, quoted.
        schema: the schema of both, quoted.
        name: the table's name in messages.
    """
    cursor.execute(_LACKS, parameters=(table, windows, schema))
    lacks, hides = cursor.fetchone() or (None, False)
    if lacks:
        return f"{name} refuses this account; run {lacks}; and retry"
    if hides:
        return f"{name} hides rows from this account by its policies; give it BYPASSRLS, or use another, and retry"
    return ""
