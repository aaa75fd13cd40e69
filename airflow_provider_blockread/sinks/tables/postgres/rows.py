"""The rows of a window in a PostgreSQL table, which are found by their column `_window`."""

from __future__ import annotations

from adbc_driver_postgresql import dbapi

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.sinks.tables.format import WINDOW

#: Whether triggers of a table, or of its partitions, may drop or change the rows that are copied into it.
_HAS_TRIGGERS = """
SELECT EXISTS (SELECT FROM pg_trigger WHERE NOT tgisinternal AND (tgrelid = to_regclass($1)
    OR tgrelid IN (SELECT relid FROM pg_partition_tree(to_regclass($1)))))"""


def delete_rows(cursor: dbapi.Cursor, table: str, window: str, *, name: str) -> None:
    """Delete all rows of a window, if there are any: a table of a publication may allow no deletion.

    Args:
        cursor: of the transaction.
        table: the table, quoted.
        window: the id of the window.
        name: the table's name in messages.

    Raises:
        ProofError: when rows are left.
    """
    cursor.execute("SET LOCAL row_security = off")  # else rows that a policy hides would stay without an error
    if not _count(cursor, table, window):
        return
    cursor.execute(f"DELETE FROM {table} WHERE {WINDOW} = $1", parameters=(window,))  # noqa: S608 - quoted
    if _count(cursor, table, window):
        msg = (
            f"{name} keeps rows of window {window} that were deleted, because of a trigger or a rule; drop it, or let"
            " it pass what this account deletes, then retry"
        )
        raise ProofError(msg)


def require_rows(cursor: dbapi.Cursor, table: str, window: str, rows: int, *, name: str) -> None:
    """Refuse a table that does not hold the rows of a window after they were copied, as a trigger may have it.

    Without triggers it holds what was copied, so nothing is counted; arguments as in `delete_rows`.

    Raises:
        ProofError: with both numbers.
    """
    cursor.execute(_HAS_TRIGGERS, parameters=(table,))
    has_triggers = cursor.fetchone()
    if not has_triggers or not has_triggers[0]:
        return
    found = _count(cursor, table, window)
    if found != rows:
        msg = (
            f"{name} holds {found:,} rows of window {window} after {rows:,} were copied, because of a trigger; let it"
            f" keep each row and its {WINDOW}, or disable it, then retry"
        )
        raise ProofError(msg)


def _count(cursor: dbapi.Cursor, table: str, window: str) -> int:
    """Return the number of rows; for EXISTS, the server may read the whole table instead of using the index."""
    cursor.execute(f"SELECT count(*) FROM {table} WHERE {WINDOW} = $1", parameters=(window,))  # noqa: S608 - quoted
    row = cursor.fetchone()
    return int(row[0]) if row else 0
