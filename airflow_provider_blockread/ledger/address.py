"""The address of a ledger: a URL, which is never shown with its password, and the file of an embedded ledger."""

from __future__ import annotations

import os
import re
import sqlite3
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sqlalchemy import exc, make_url
from sqlalchemy.engine import URL
from sqlalchemy.pool import ConnectionPoolEntry

from airflow_provider_blockread.errors import OptionsError

_FORMS = "sqlite:////folder/file.db or postgresql://user@host/database"
_THRESHOLD = "prepare_threshold"
_FILE = "blockread_file"  # which file a connection has opened
_SECRET = re.compile("passw|secret|scram_", re.IGNORECASE)  # in names of parameters, such as sslpassword
# A password ends at the first @, so a second @ would make the rest of the password a part of the host.
_SECOND_AT = re.compile(r"[^:/]*://[^:/]*:[^@]*@.*@", re.DOTALL)
# As libpq writes them: host:port,host:port
_HOSTS = re.compile(r"postgres[^:/]*://([^/?@]*@)?[^/?@]*:\d*,")


def parse_address(text: str) -> URL:
    """Return the URL of a ledger.

    Raises:
        OptionsError: when it is malformed or names another kind of database; the message shows no part of a password.
    """
    if _SECOND_AT.match(text):
        msg = "the ledger's URL has a second @: write one that belongs to the user or the password as %40"
        raise OptionsError(msg)
    if _HOSTS.match(text):
        msg = (
            "the ledger's URL has several hosts with ports: write them as parameters,"
            " postgresql://user@/database?host=one,other&port=5432,5432"
        )
        raise OptionsError(msg)
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError):
        # The text may contain a password: keep it out of the message and its cause.
        msg = f"the ledger's URL cannot be parsed; write {_FORMS}"
        raise OptionsError(msg) from None
    if url.drivername in {"postgres", "postgresql"}:
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in {"sqlite", "sqlite+pysqlite", "postgresql+psycopg"}:
        msg = f"a ledger cannot be kept in {url.drivername}; use {_FORMS}, with the driver psycopg 3"
        raise OptionsError(msg)
    if url.get_backend_name() == "sqlite":
        _check_file(url)
    server_arguments(url)
    return url


def server_arguments(url: URL) -> dict[str, int | None]:
    """Return the parameters of a server's URL that its driver does not take as text.

    Raises:
        OptionsError: when one has no meaning.
    """
    found = url.normalized_query.get(_THRESHOLD)
    if found is None or url.get_backend_name() == "sqlite":
        return {}
    if found[-1] != "none" and not found[-1].isdecimal():
        msg = (
            f"the ledger's URL has {_THRESHOLD}={found[-1]!r}; write a number, after so many executions a statement is"
            " prepared, or none, for never"
        )
        raise OptionsError(msg)
    return {_THRESHOLD: None if found[-1] == "none" else int(found[-1])}


def _check_file(url: URL) -> None:
    if url.host or url.username or url.port:
        msg = "a ledger in SQLite is a file and has no host; write four slashes: sqlite:////folder/file.db"
        raise OptionsError(msg)
    if url.database in {None, "", ":memory:"}:
        msg = "a ledger in memory would be gone with its process; name a file: sqlite:////folder/file.db"
        raise OptionsError(msg)
    try:
        url.get_dialect()().create_connect_args(url)
    except ValueError as error:
        msg = f"the ledger's URL has a parameter of another type ({error}); correct it, or leave it out"
        raise OptionsError(msg) from error


def file_of(url: URL) -> Path | None:
    """Return the file of an embedded ledger, or None for a ledger on a server."""
    if url.get_backend_name() != "sqlite":
        return None
    name = str(url.database)
    return Path(unquote(urlsplit(name).path) if name.startswith("file:") else name)


def identity_of(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one that is put in its place while it is open, or None if there is none.

    For a file that cannot be inspected, SQLite reports the reason.
    """
    try:
        found = file.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


def is_missing(file: Path) -> bool:
    """Return whether there is no such file."""
    return identity_of(file) is None


def prepare_file(url: URL, file: Path, record: ConnectionPoolEntry) -> None:
    """Make the file of an embedded ledger if it is missing: one that SQLite makes, every user may read.

    Which file it is, is remembered with the connection that opens it.

    Raises:
        OperationalError: when this account may only read it, and would create a log to which its writers may not write.
    """
    with suppress(OSError):  # it is there, or SQLite reports the reason
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o660))
    only_reads = os.access(file, os.R_OK) and not os.access(file, os.W_OK) and "immutable" not in url.query
    has_log = all(os.access(f"{file}{end}", os.F_OK) for end in ("-wal", "-shm"))
    if only_reads and not has_log and os.access(file.parent, os.W_OK):
        msg = "for this account it is a readonly database, and reading it would lock out those who may write"
        raise sqlite3.OperationalError(msg)
    record.info[_FILE] = identity_of(file)


def refuse_replaced(file: Path, record: ConnectionPoolEntry) -> None:
    """Let the pool open new connections if another file, as a backup, is in the place: SQLite would use the old one."""
    if record.info[_FILE] != identity_of(file):
        raise exc.InvalidatePoolError


def shown(url: URL) -> str:
    """Return the address without password or parameters, for messages."""
    return URL.create(url.drivername, url.username, None, url.host, url.port, url.database).render_as_string()


def complete(url: URL) -> str:
    """Return the address with its parameters, as people write it, for commands; without password and other secrets."""
    kept = {name: value for name, value in url.query.items() if not _SECRET.search(name)}
    found = URL.create(url.get_backend_name(), url.username, None, url.host, url.port, url.database, kept)
    return found.render_as_string()
