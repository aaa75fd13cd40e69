"""What differs between SQLite and PostgreSQL, all of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Column, Connection, Engine, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.sql.dml import Insert

_BUSY_TIMEOUT_S = 60
_CONNECT_TIMEOUT_S = 10
_SQLITE_SETTINGS = (
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_S * 1000}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",  # a commit that a power cut undid would have its published files read again
    "PRAGMA cache_size = -65536",  # KiB; the default of 2 MB makes a million digests thrash
    "PRAGMA wal_autocheckpoint = 8192",  # pages, 32 MiB; checkpoints of the default 4 MiB cost a third of a scan
)
# Any number will do, as long as nothing else on the server uses it.
_UPGRADE_LOCK = 0x626C6F636B726561


def prepare_engine(url: URL) -> Engine:
    """Return an engine with this package's settings; it opens its first connection when used.

    Raises:
        ModuleNotFoundError: when the driver is not installed.
    """
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S}, max_overflow=-1)
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    return create_engine(
        url,
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        max_overflow=-1,
        connect_args={"connect_timeout": _CONNECT_TIMEOUT_S},
    )


def prepare_upgrade(engine: Engine) -> None:
    """Set what lives in the database file itself: on SQLite, the write-ahead log, so that readers never block."""
    if engine.dialect.name != "sqlite":
        return
    connection = engine.raw_connection()
    try:
        cursor = connection.cursor()
        # Two processes that create the file at once would collide here: the switch does not wait for a lock.
        cursor.execute("BEGIN IMMEDIATE")
        cursor.execute("COMMIT")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.close()
    finally:
        connection.close()


def lock_upgrade(connection: Connection) -> None:
    """Make other upgrades wait until this transaction ends; on SQLite, writing alone does that."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})


def insert_or_ignore(connection: Connection, table: Table) -> Insert:
    """Return an INSERT that leaves rows alone which are there already."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing()
    return postgresql.insert(table).on_conflict_do_nothing()


def insert_many(connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert many rows, given in the order of the columns and in the driver's own types.

    SQLAlchemy turns every value of every row by itself, which for a large scan takes longer than the database does.
    """
    mark = "?" if connection.dialect.name == "sqlite" else "%s"
    names, marks = ", ".join(columns), ", ".join(mark for _ in columns)
    connection.exec_driver_sql(f"INSERT INTO {table.name} ({names}) VALUES ({marks})", list(rows))  # noqa: S608 - our names


def driver_value(connection: Connection, column: Column[Any], value: object) -> object:
    """Return a value as the driver stores it in the column."""
    process = column.type.dialect_impl(connection.dialect).bind_processor(connection.dialect)
    return value if process is None else process(value)


def _configure_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the driver would begin transactions by itself, and only deferred ones
    for setting in _SQLITE_SETTINGS:
        connection.execute(setting)


def _begin_sqlite(connection: Connection) -> None:
    writes: Any = connection.get_execution_options().get("blockread_writes", False)
    # A deferred transaction that writes later fails at once when another one wrote in between; this one waits.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
