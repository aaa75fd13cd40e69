"""One ledger a test, on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import logging
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from airflow_provider_blockread.ledger.store import Ledger

_NUMBERS = count()


@dataclass
class Clock:
    """A clock that goes on only when it is told to."""

    time: datetime = field(default=datetime(2026, 1, 1, tzinfo=UTC))

    def __call__(self) -> datetime:
        """Return the present."""
        return self.time

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass."""
        self.time += timedelta(seconds=seconds)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a PostgreSQL server of our own."""
    # Not pytest's own folder: run as root, the server is another user, and must be able to go there.
    folder = Path(tempfile.mkdtemp(prefix="blockread-pg-"))
    folder.chmod(0o755)
    with warnings.catch_warnings():
        # Its import looks for the user's runtime folder, which a container has none of.
        warnings.simplefilter("ignore")
        import pgserver
    logging.getLogger("pgserver").setLevel(logging.WARNING)  # it logs at exit, when pytest has closed the stream
    server = pgserver.get_server(folder / "data")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, one a test."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.db'}"
    # A schema is as empty as a database of its own, and costs the server no copy of a template.
    server: str = request.getfixturevalue("postgres")
    name = f"ledger_{next(_NUMBERS)}"
    engine = create_engine(server.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {name}"))
    engine.dispose()
    separator = "&" if "?" in server else "?"
    return f"{server}{separator}options=-csearch_path%3D{name}"


@pytest.fixture
def clock() -> Clock:
    """The clock of `ledger`."""
    return Clock()


@pytest.fixture
def ledger(url: str, clock: Clock) -> Iterator[Ledger]:
    """An empty ledger of the newest schema."""
    found = Ledger(url, now=clock)
    found.upgrade()
    yield found
    found.close()
