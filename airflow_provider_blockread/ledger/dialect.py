"""All differences between SQLite and PostgreSQL."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Table,
    any_,
    cast,
    create_engine,
    event,
    exc,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL
from sqlalchemy.sql.dml import Insert

from airflow_provider_blockread.ledger.address import prepare_file, refuse_replaced
from airflow_provider_blockread.ledger.schema.columns import Digest
from airflow_provider_blockread.libpq import ENCODING, PARAMETERS

_BUSY_TIMEOUT_S = 60
_POLL_MS = 8  # SQLite then polls after 1, 2 and 5 ms
_LONG_S = 0.05  # length of a transaction that kept others waiting
_TURN_S = 0.01  # that others need to get their turn
_SQLITE_SETTINGS = (
    f"PRAGMA busy_timeout = {_BUSY_TIMEOUT_S * 1000}",
    "PRAGMA foreign_keys = ON",
    "PRAGMA synchronous = FULL",  # if a power failure undid a commit, published files would be read again
    "PRAGMA cache_size = -32768",  # KiB; with the default of 2 MB a million digests thrash; more does not help
    "PRAGMA wal_autocheckpoint = 8192",  # pages, 32 MiB; checkpoints of the default 4 MiB cost a third of a listing
    "PRAGMA journal_size_limit = 67108864",  # bytes; a log that has grown beside a long reader would keep its size
)
_ROWS_A_STATEMENT = 250
_DIGEST_BYTES = 16
_AS_TEXT = 0  # `psycopg.pq.Format.TEXT`; the driver need not be installed
# Any number will do, as long as nothing else on the server uses it.
_UPGRADE_LOCK = 0x626C6F636B726561


def prepare_engine(url: URL, file: Path | None, arguments: Mapping[str, object]) -> Engine:
    """Return an engine with this package's settings; it opens its first connection when used.

    An embedded ledger has a file. A server's driver gets these arguments besides those of the URL.

    Raises:
        ModuleNotFoundError: when the driver is not installed.
    """
    if file is not None:
        engine = create_engine(url, connect_args={"timeout": _BUSY_TIMEOUT_S}, max_overflow=-1)
        event.listen(engine, "do_connect", lambda _, record, *__: prepare_file(url, file, record))
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "checkout", lambda _, record, *__: refuse_replaced(file, record))
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    settings = {name: value for name, value in PARAMETERS.items() if name not in url.query}
    engine = create_engine(
        url,
        isolation_level="READ COMMITTED",
        pool_pre_ping=True,
        max_overflow=-1,
        connect_args={**settings, **arguments, **ENCODING},
    )
    event.listen(engine, "connect", _configure_postgres)
    return engine


def prepare_upgrade(engine: Engine) -> None:
    """Make the settings that the database file stores: on SQLite, the write-ahead log, so that readers never block."""
    if engine.dialect.name != "sqlite":
        return
    connection = engine.raw_connection()
    try:
        raw: Any = connection.driver_connection
        deadline = time.monotonic() + _BUSY_TIMEOUT_S
        # SQLite's own timeout does not apply to the switch, which fails at once while another process writes.
        while not _executed(raw, "PRAGMA journal_mode = WAL", deadline):
            time.sleep(_TURN_S)
    finally:
        connection.close()


def lock_upgrade(connection: Connection) -> None:
    """Make other upgrades wait until this transaction ends; on SQLite, a write transaction already does that."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _UPGRADE_LOCK})


def insert_or_ignore(connection: Connection, table: Table, *unique: str) -> Insert:
    """Return an INSERT that skips rows that already exist, by these columns or by any constraint."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).on_conflict_do_nothing(unique or None)
    return postgresql.insert(table).on_conflict_do_nothing(index_elements=unique or None)


def among(connection: Connection, column: ColumnElement[Any], values: Iterable[int | str]) -> ColumnElement[bool]:
    """Return the condition that a column of numbers or digests has one of these values, passed as one parameter.

    SQLAlchemy binds each value of a list separately, which for thousands takes longer than the database itself.
    """
    if connection.dialect.name == "postgresql":
        kind = column.type.load_dialect_impl(connection.dialect) if isinstance(column.type, Digest) else column.type
        # As text, in which these values need no quotes, since drivers inspect every value of a list.
        return column == any_(cast(literal(f"{{{','.join(map(str, values))}}}"), postgresql.ARRAY(kind)))
    if not isinstance(column.type, Digest):
        return column.in_(select(_each(values)))
    # Concatenated in a blob. A Python function called for each row would compete with the thread that lists.
    blob = bytes.fromhex("".join(map(str, values)))
    return column.in_(select(func.substr(literal(blob), _each(range(1, len(blob), _DIGEST_BYTES)), _DIGEST_BYTES)))


def _each(values: Iterable[int | str]) -> ColumnElement[Any]:
    return func.json_each(json.dumps(list(values))).table_valued("value").c.value


def insert_many(connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert many rows, given in the order of the columns and in the driver's own types.

    SQLAlchemy converts every value separately, which for a large listing takes longer than the database itself; and
    many rows in one statement take the database two thirds of the time that they take one by one.
    """
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {table.name} ({', '.join(columns)}) FROM STDIN", rows)
        return
    row = f"({', '.join('?' for _ in columns)})"
    into = f"INSERT INTO {table.name} ({', '.join(columns)}) VALUES "  # noqa: S608 - our names
    for start in range(0, len(rows), _ROWS_A_STATEMENT):
        some = rows[start : start + _ROWS_A_STATEMENT]
        values = tuple(chain.from_iterable(some))
        connection.exec_driver_sql(into + ", ".join([row] * len(some)), values)


def _copy(connection: Connection, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except driver.Error as error:  # converted as SQLAlchemy does for its own statements
        raise exc.DBAPIError.instance(statement, None, error, driver.Error) from error


def freeze(connection: Connection) -> None:
    """Let a transaction that has only begun see no rows that others write meanwhile; on SQLite every one does so."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))


def last_id(connection: Connection, table: Table) -> int:
    """Return the newest id that a table ever had, or 0."""
    if connection.dialect.name == "postgresql":
        newest = text("SELECT pg_sequence_last_value(pg_get_serial_sequence(:name, 'id'))")
    else:
        newest = text("SELECT seq FROM sqlite_sequence WHERE name = :name")
    return connection.scalar(newest, {"name": table.name}) or 0


def set_last_id(connection: Connection, table: Table, last: int) -> None:
    """Give the next row of a table the id that follows this one, which is not 0."""
    if connection.dialect.name == "postgresql":
        statements = ["SELECT setval(pg_get_serial_sequence(:name, 'id'), :last)"]
    else:
        statements = [
            "DELETE FROM sqlite_sequence WHERE name = :name",
            "INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :last)",
        ]
    for statement in statements:
        connection.execute(text(statement), {"name": table.name, "last": last})


def renew_statistics(connection: Connection, tables: Iterable[Table]) -> None:
    """Let PostgreSQL count the rows of tables that were just filled: until it does so by itself, it scans them."""
    if connection.dialect.name == "postgresql":
        for table in tables:
            connection.execute(text(f"ANALYZE {connection.dialect.identifier_preparer.format_table(table)}"))


def driver_digest(connection: Connection) -> Callable[[str], object]:
    """Return a function that converts the digest of a path to the driver's own value, for `insert_many`."""
    return bytes.fromhex if connection.dialect.name == "sqlite" else str


def text_digest(connection: Connection) -> Callable[[Any], str]:
    """Return a function that converts the driver's value of a path's digest to text, for many rows.

    SQLAlchemy's own conversion by a column's type takes longer than everything else for a row.
    """
    return bytes.hex if connection.dialect.name == "sqlite" else _without_dashes


def _without_dashes(uuid: str) -> str:
    return uuid.replace("-", "")


def _configure_postgres(connection: Any, _record: object) -> None:  # noqa: ANN401 - the driver's own
    """Let psycopg return digests as text, rather than as objects that are converted to text later, and read times."""
    text_oid = connection.adapters.types["text"].oid
    connection.adapters.register_loader("uuid", connection.adapters.get_loader(text_oid, _AS_TEXT))
    if not connection.info.parameter_status("DateStyle").startswith("ISO"):  # as its role or database prefers
        connection.execute("SET DateStyle TO ISO")
        connection.commit()


def _configure_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    connection.isolation_level = None  # the driver itself would begin transactions, and only deferred ones
    for setting in _SQLITE_SETTINGS:
        connection.execute(setting)


def _begin_sqlite(connection: Connection) -> None:
    if not connection.get_execution_options().get("blockread_writes", False):
        connection.exec_driver_sql("BEGIN")
        return
    raw: Any = connection.connection.driver_connection
    lasting = connection.get_execution_options().get("blockread_lasting", True)
    raw.execute(f"PRAGMA synchronous = {'FULL' if lasting else 'NORMAL'}")  # too late inside a transaction
    # A deferred transaction that writes later fails at once if another one wrote in between; this one waits. SQLite's
    # own handler polls less and less often, finally every 100 ms, and would miss the gaps between a listing's batches.
    deadline = time.monotonic() + _BUSY_TIMEOUT_S
    raw.execute(f"PRAGMA busy_timeout = {_POLL_MS}")
    try:
        while not _executed(raw, "BEGIN IMMEDIATE", deadline):
            pass
    finally:
        raw.execute(_SQLITE_SETTINGS[0])


def _executed(raw: sqlite3.Connection, statement: str, deadline: float) -> bool:
    try:
        raw.execute(statement)
    except sqlite3.OperationalError as error:
        # The low byte is the kind: others say that another process recovers the log of one that died.
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
            raise
        return False
    return True


def wait_for_no_disk(connection: Connection) -> None:
    """Do not let this transaction's commit wait for the disk; on SQLite this is set when it begins."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL synchronous_commit TO off"))


def use_indexes(connection: Connection) -> None:
    """Make this transaction find rows by index: for a few thousand digests PostgreSQL would scan a million rows."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL enable_seqscan TO off"))


def pass_over_dead(connection: Connection) -> None:
    """Disable bitmap scans in this transaction, so that PostgreSQL marks entries of dead rows and later skips them.

    After a million files have been taken, the index of pending files is full of dead entries until the next vacuum, and
    each bitmap scan, which PostgreSQL prefers, visits them again.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL enable_bitmapscan TO off"))


def give_way(connection: Connection, began: float) -> None:
    """Pause for other writers after a long transaction, which began at this monotonic time; only SQLite needs it."""
    if connection.dialect.name == "sqlite" and time.monotonic() - began > _LONG_S:
        time.sleep(_TURN_S)


def day_of(connection: Connection, column: ColumnElement[Any]) -> ColumnElement[str]:
    """Return the day of a stored time in UTC, such as `2026-11-22`."""
    if connection.dialect.name == "sqlite":
        return func.substr(column, 1, 10)
    return func.to_char(func.timezone("UTC", column), "YYYY-MM-DD")
