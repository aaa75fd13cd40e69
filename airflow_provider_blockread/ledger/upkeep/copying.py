"""Copies a ledger into another database, as from SQLite to PostgreSQL once tasks run on several hosts."""

from __future__ import annotations

from sqlalchemy import Connection, Table, select

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.dialect import freeze, last_id, renew_statistics, set_last_id
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.schema.columns import metadata
from airflow_provider_blockread.ledger.store import Ledger

_ROWS = 5_000  # of a statement


def copy_ledger(source: Ledger, target: Ledger) -> int:
    """Copy a ledger with its identity in one transaction, and return the number of rows; the source stays as it is.

    The target is created or upgraded; nobody may have used it.

    Raises:
        OptionsError: when the target knows a feed.
        LedgerSchemaError: when one of the schemas is not this package's.
        LedgerUnavailableError: when one of the databases cannot be reached.
    """
    source.check()
    target.upgrade()
    with source.reading() as old, target.writing() as new:
        if new.execute(select(tables.feeds.c.id).limit(1)).first() is not None:
            msg = f"ledger {target.name} is in use already; name a new file, or an empty database or schema"
            raise OptionsError(msg)
        new.execute(tables.ledger.delete())
        freeze(old)
        copied = [table for table in metadata.sorted_tables if table is not tables.version]
        rows = sum(_copy(old, new, table) for table in copied)
        renew_statistics(new, copied)
        return rows


def _copy(old: Connection, new: Connection, table: Table) -> int:
    count = 0
    for rows in old.execute(select(table), execution_options={"yield_per": _ROWS}).mappings().partitions():
        new.execute(table.insert(), [dict(row) for row in rows])
        count += len(rows)
    if table.dialect_options["sqlite"]["autoincrement"] and (last := last_id(old, table)):
        set_last_id(new, table, last)  # which a row that was deleted may have had
    return count
