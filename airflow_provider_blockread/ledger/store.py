"""Access to the ledger: connections, transactions, migration; driver errors are translated only here."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Connection, Engine, exc, select

from airflow_provider_blockread.errors import (
    BlockReadError,
    ConflictError,
    LedgerSchemaError,
    LedgerUnavailableError,
    OptionsError,
)
from airflow_provider_blockread.ledger import migrations
from airflow_provider_blockread.ledger.address import (
    complete,
    file_of,
    is_missing,
    parse_address,
    server_arguments,
    shown,
)
from airflow_provider_blockread.ledger.dialect import (
    give_way,
    lock_upgrade,
    prepare_engine,
    prepare_upgrade,
    wait_for_no_disk,
)
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.trouble import (
    OF_THE_SERVER,
    is_lasting,
    lacks_table,
    on_one_line,
    remedy,
    repeats_id,
    shared_mount,
)


def utc_now() -> datetime:
    """Return the current time, aware and in UTC."""
    return datetime.now(UTC)


def default_url(folder: str) -> str:
    """Return the URL of the embedded ledger in a folder."""
    return f"sqlite:///{Path(folder).absolute() / 'blockread.db'}"


class Ledger:
    """One ledger. Opens nothing until it is used; may be pickled, forked and shared by threads.

    Args:
        url: `sqlite:////folder/file.db` or `postgresql://user:password@host/database`.
        now: the clock; heartbeats and timestamps come from it.

    Raises:
        OptionsError: when the URL is malformed or names another kind of database.
    """

    def __init__(self, url: str, *, now: Callable[[], datetime] = utc_now) -> None:
        self.now = now
        self._url = parse_address(url)
        self._file = file_of(self._url)
        self._engine: Engine | None = None
        self._pid = 0
        self._identity: tuple[str, str] | None = None

    def __repr__(self) -> str:
        return f"Ledger({self.name!r})"

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the address only, without connections."""
        return partial(Ledger, now=self.now), (self._url.render_as_string(hide_password=False),)

    @property
    def name(self) -> str:
        """The address without password or parameters, for messages."""
        return shown(self._url)

    @property
    def address(self) -> str:
        """The address with its parameters, for commands: they reach this ledger, once they are given the password."""
        return complete(self._url)

    def has_address_of(self, other: Ledger) -> bool:
        """Return whether another ledger is reached in the same way, by the same user with the same password."""
        return self._url == other._url

    @property
    def uuid(self) -> str:
        """The identity of this ledger, fixed when it was created."""
        return self._known_identity()[0]

    @property
    def secret(self) -> str:
        """A secret of this ledger, fixed when it was created; all readers of the ledger know it."""
        return self._known_identity()[1]

    def _known_identity(self) -> tuple[str, str]:
        if self._identity is None:
            with self.reading() as connection:
                found = connection.execute(select(tables.ledger.c.uuid, tables.ledger.c.secret)).one_or_none()
            if found is None:
                raise LedgerSchemaError(self._needs_upgrade("has no identity"))
            self._identity = str(found.uuid), str(found.secret)
        return self._identity

    def upgrade(self, *, identity: str | None = None) -> migrations.Upgrade:
        """Create or migrate the schema, and return both revisions; may run twice, and in two processes at once.

        A new ledger gets this identity, or a random one.

        Raises:
            LedgerSchemaError: when the schema is newer than this package.
            LedgerUnavailableError: when the database cannot be reached.
        """
        if self._file is not None:
            self._make_folder(self._file.parent)
        with self._translated():
            prepare_upgrade(self._live_engine())
        with self.writing() as connection:
            lock_upgrade(connection)
            revision = migrations.current(connection)
            if revision is not None and revision not in tables.REVISIONS:
                raise LedgerSchemaError(self._is_newer(revision))
            migrations.run(connection, revision)
            if connection.scalar(select(tables.ledger.c.uuid)) is None:
                made = {"uuid": identity or str(uuid4()), "secret": secrets.token_hex(32)}
                row = made | {"created_at": self.now(), "singleton": 1}
                connection.execute(tables.ledger.insert().values(row))
        return migrations.Upgrade(before=revision, after=tables.REVISIONS[-1])

    def make(self) -> None:
        """Create the schema in an SQLite file that is missing or has none; any other ledger is not changed.

        Raises:
            LedgerUnavailableError: when the file cannot be used.
        """
        if self._file is None:
            return
        if not is_missing(self._file):
            with self.reading() as connection:
                if migrations.current(connection) is not None:
                    return
        self.upgrade()

    def check(self) -> None:
        """Make sure that this package can work with the ledger; if not, its connections are closed.

        Nothing is written, and no file is created.

        Raises:
            LedgerSchemaError: when the schema is missing, older or newer.
            LedgerUnavailableError: when the database cannot be reached.
        """
        if self._file is not None and is_missing(self._file):
            raise LedgerSchemaError(self._needs_upgrade("does not exist: set --state or BLOCKREAD_STATE, or create it"))
        try:
            with self.reading() as connection:
                revision = migrations.current(connection)
            if revision is None:
                copied = "" if self._file is None else " (a copy of one needs its file with -wal, too)"
                raise LedgerSchemaError(self._needs_upgrade(f"holds no ledger yet{copied}"))
            if revision not in tables.REVISIONS:
                raise LedgerSchemaError(self._is_newer(revision))
            if revision != tables.REVISIONS[-1]:
                raise LedgerSchemaError(self._needs_upgrade(f"is at revision {revision}, older than this package"))
        except BlockReadError:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that only reads.

        Raises:
            LedgerUnavailableError: when the database cannot be reached or stays locked.
            LedgerSchemaError: when a table or the SQLite file is missing.
        """
        with self._translated(), self._existing_engine().connect() as connection:
            yield connection

    @contextmanager
    def writing(self, *, lasting: bool = True) -> Iterator[Connection]:
        """Yield a connection in one transaction, which is committed at the end and rolled back on any error.

        Unless it is `lasting`, it does not wait for the disk: a power failure may undo it, until a lasting one follows.

        Raises:
            LedgerUnavailableError: when the database cannot be reached or stays locked.
            LedgerSchemaError: when a table or the SQLite file is missing.
            ConflictError: when a constraint is violated because of what another process has done.
        """
        began = time.monotonic()
        with self._translated(), self._existing_engine().connect() as connection:
            with connection.execution_options(blockread_writes=True, blockread_lasting=lasting).begin():
                if not lasting:
                    wait_for_no_disk(connection)
                yield connection
            give_way(connection, began)

    def close(self) -> None:
        """Close all connections; the next use opens new ones."""
        if self._engine is not None and self._pid == os.getpid():
            self._engine.dispose()
        self._engine = None

    def _existing_engine(self) -> Engine:
        """Return the engine of a ledger that exists: SQLite would create a missing file, and keep a removed one open.

        Raises:
            LedgerSchemaError: when the file is missing.
        """
        if self._file is not None and is_missing(self._file):
            self.close()
            msg = (
                f"ledger {self.name} is gone: restore its file from a backup, or correct its name; a new ledger would"
                " read all files again"
            )
            raise LedgerSchemaError(msg)
        return self._live_engine()

    def _live_engine(self) -> Engine:
        engine = self._engine  # another thread may close the ledger
        if engine is None or self._pid != os.getpid():
            if engine is not None:
                engine.dispose(close=False)  # the sockets belong to the parent process
            engine = self._open()
            self._engine, self._pid = engine, os.getpid()
        return engine

    def _make_folder(self, folder: Path) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"ledger {self.name}: its folder cannot be created ({error.strerror}); correct the path, or create it"
            raise LedgerUnavailableError(msg) from error

    def _open(self) -> Engine:
        if self._file is not None and (shared := shared_mount(self._file)):
            msg = (
                f"ledger {self.name} is on a network file system ({shared}), where SQLite loses its locks and with"
                " them its content; put it on a local disk, or use PostgreSQL: postgresql://user@host/database"
            )
            raise OptionsError(msg)
        try:
            return prepare_engine(self._url, self._file, server_arguments(self._url))
        except ModuleNotFoundError as error:
            msg = f"ledger {self.name} needs the module {error.name}; install airflow-provider-blockread[postgres]"
            raise OptionsError(msg) from error

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except exc.DBAPIError as error:
            reason = on_one_line(error.orig)
            state = getattr(error.orig, "sqlstate", None)
            if isinstance(error, exc.IntegrityError) and not repeats_id(reason):
                msg = f"ledger {self.name}: another process changed the same rows ({reason}); retry"
                raise ConflictError(msg) from error
            if lacks_table(reason, state):
                what = self._needs_upgrade(f"lacks a table ({reason})")
                msg = f"{what}; if it is already at the newest revision, restore it from a backup"
                raise LedgerSchemaError(msg) from error
            if "invalid connection option" in reason:  # as libpq says
                msg = f"ledger {self.name}: {reason}; correct the parameters of its URL"
                raise OptionsError(msg) from error
            # Errors of other classes, about statements, data or internals, are bugs in this package.
            outside = isinstance(error, (exc.OperationalError, exc.InterfaceError)) or type(error) is exc.DatabaseError
            if not outside and state not in OF_THE_SERVER:
                raise
            raise self._trouble(reason, state) from error
        except (exc.TimeoutError, sqlite3.Error) as error:  # the latter from the driver itself, while a file is opened
            raise self._trouble(on_one_line(error)) from error

    def _needs_upgrade(self, what: str) -> str:
        return f"ledger {self.name} {what}; run `blockread db upgrade --state URL` with its URL"

    def _is_newer(self, revision: str) -> str:
        what = f"ledger {self.name} is at revision {revision}, newer than this package"
        return f"{what}; upgrade airflow-provider-blockread"

    def _trouble(self, reason: str, state: str | None = None) -> BlockReadError:
        kind = LedgerSchemaError if is_lasting(reason) else LedgerUnavailableError
        return kind(f"ledger {self.name} cannot be used: {reason}; {remedy(reason, state)}")
