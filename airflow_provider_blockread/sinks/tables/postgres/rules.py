"""What a PostgreSQL table must be for a commit: a table, by whose column `_window` the rows of a window are found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from airflow_provider_blockread.sinks.tables.format import WINDOW
from airflow_provider_blockread.sinks.tables.postgres.sql import Column
from airflow_provider_blockread.sinks.tables.postgres.types import takes_rows

#: What else may have the name of a table, by the letter of its kind.
_NO_TABLES = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence"}


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
