"""Opening, creating, migrating and checking a ledger."""

from __future__ import annotations

import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import event, select

from airflow_provider_blockread.errors import (
    BlockReadError,
    ConflictError,
    LedgerSchemaError,
    LedgerUnavailableError,
    OptionsError,
)
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.store import Ledger, default_url, utc_now

SECRET = "s3cr3t"  # noqa: S105


def test_upgrade_creates_one_identity_and_may_run_again(ledger: Ledger, url: str) -> None:
    """A second upgrade changes nothing, and every handle sees the same UUID."""
    uuid = ledger.uuid

    assert str(ledger.upgrade()) == f"at revision {tables.REVISIONS[-1]} already"
    other = Ledger(url)
    other.check()
    assert other.uuid == uuid
    other.close()


@pytest.mark.slow
def test_processes_that_upgrade_at_once_agree(url: str) -> None:
    """Four processes create the ledger together; all end with the same identity."""
    code = """
import sys
from airflow_provider_blockread.ledger.store import Ledger
ledger = Ledger(sys.argv[1])
ledger.upgrade()
print(ledger.uuid)
"""
    started = [subprocess.Popen([sys.executable, "-c", code, url], stdout=subprocess.PIPE) for _ in range(4)]
    printed = [process.communicate()[0] for process in started]

    assert [process.returncode for process in started] == [0] * 4
    assert len(set(printed)) == 1


def test_an_upgrade_waits_for_another_one_that_is_a_step_ahead(tmp_path: Path) -> None:
    """SQLite refuses at once to switch to its write-ahead log while another process writes to the file."""
    file = tmp_path / "ledger.db"
    ahead = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    release = threading.Timer(0.3, ahead.execute, ["COMMIT"])
    ledger = Ledger(f"sqlite:///{file}")

    def begin(statement: str) -> None:
        if "journal_mode" in statement and not release.ident:
            ahead.execute("BEGIN IMMEDIATE")
            release.start()

    @event.listens_for(ledger._live_engine(), "connect")
    def _watch(connection: sqlite3.Connection, _record: object) -> None:
        connection.set_trace_callback(begin)

    ledger.upgrade()

    assert release.ident, "nothing was in the way"
    assert ledger.uuid
    ledger.close()
    release.join()
    ahead.close()


def test_a_ledger_that_was_not_created_says_so(url: str) -> None:
    """An empty database is refused with the command that helps, by the check and by any query; so is a missing file."""
    ledger = Ledger(url)

    with pytest.raises(LedgerSchemaError, match="blockread db upgrade"):
        ledger.check()
    with pytest.raises(LedgerSchemaError, match=r"blockread db upgrade|correct its name; a new ledger would"):
        _ = ledger.uuid
    ledger.close()


def test_a_ledger_that_is_refused_keeps_no_connection(url: str) -> None:
    """Who opened it got an error instead, and has nothing to close."""
    ledger = Ledger(url)
    engine = ledger._live_engine()
    engine.connect().close()  # so that there is a file
    engine.dispose()
    opened, closed = [], []
    event.listen(engine, "connect", lambda *_: opened.append(1))
    event.listen(engine, "close", lambda *_: closed.append(1))

    with pytest.raises(LedgerSchemaError):
        ledger.check()

    assert (len(opened), len(closed)) == (1, 1)


def test_a_newer_schema_is_refused(ledger: Ledger) -> None:
    """A ledger that a newer package migrated is neither used nor migrated."""
    with ledger.writing() as connection:
        connection.execute(tables.version.update().values(version_num="9999"))

    with pytest.raises(LedgerSchemaError, match="newer than this package"):
        ledger.check()
    with pytest.raises(LedgerSchemaError, match="newer than this package"):
        ledger.upgrade()


def test_an_error_rolls_back(ledger: Ledger) -> None:
    """A transaction that raises leaves nothing, and frees its connection."""

    def write_and_fail() -> None:
        with ledger.writing() as connection:
            connection.execute(tables.feeds.insert().values(name="f", created_at=utc_now()))
            msg = "no"
            raise BlockReadError(msg)

    with pytest.raises(BlockReadError, match="no"):
        write_and_fail()

    with ledger.reading() as connection:
        assert connection.execute(tables.feeds.select()).all() == []


def test_constraints_speak_as_conflicts(ledger: Ledger) -> None:
    """What a constraint refuses is a conflict, not a driver's error."""
    row = {"name": "f", "created_at": utc_now()}
    with ledger.writing() as connection:
        connection.execute(tables.feeds.insert().values(row))

    with pytest.raises(ConflictError, match="another process"), ledger.writing() as connection:
        connection.execute(tables.feeds.insert().values(row))


def test_foreign_keys_are_on(ledger: Ledger) -> None:
    """Nothing can belong to a feed that does not exist."""
    with pytest.raises(ConflictError), ledger.writing() as connection:
        connection.execute(listings.insert().values(feed_id=99, started_at=utc_now()))


def test_times_come_back_in_utc(ledger: Ledger) -> None:
    """A time is the same moment after storing, aware and in UTC; a naive one is refused."""
    time = utc_now()
    with ledger.writing() as connection:
        connection.execute(tables.feeds.insert().values(name="f", created_at=time))
    with ledger.reading() as connection:
        stored = connection.scalar(tables.feeds.select().with_only_columns(tables.feeds.c.created_at))

    assert stored == time
    assert stored.tzinfo == time.tzinfo
    with pytest.raises(Exception, match="no time zone"), ledger.writing() as connection:
        connection.execute(tables.feeds.insert().values(name="g", created_at=time.replace(tzinfo=None)))


def test_a_ledger_travels_to_another_process(ledger: Ledger) -> None:
    """A pickled ledger opens the same database."""
    with_clock = Ledger(ledger.__reduce__()[1][0])  # type: ignore[index]

    copy = pickle.loads(pickle.dumps(with_clock))  # noqa: S301

    assert copy.uuid == ledger.uuid
    copy.close()


def test_an_unreachable_server_is_transient_and_keeps_the_password() -> None:
    """A server that is down gives a transient error that names the ledger without its password."""
    ledger = Ledger(f"postgresql://me:{SECRET}@127.0.0.1:1/db?sslpassword={SECRET}")

    with pytest.raises(LedgerUnavailableError, match=r"127\.0\.0\.1:1/db") as caught:
        ledger.check()
    assert SECRET not in str(caught.value) + ledger.name + repr(ledger)


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    """The embedded default is created with its folder; before that, nothing is."""
    ledger = Ledger(default_url(str(tmp_path / "new" / "home")))
    with pytest.raises(
        LedgerSchemaError,
        match=r"does not exist: set --state or BLOCKREAD_STATE, or create it; run `blockread db",
    ):
        ledger.check()
    assert not (tmp_path / "new").exists()

    ledger.make()
    ledger.check()

    assert (tmp_path / "new" / "home" / "blockread.db").exists()
    ledger.close()


def test_no_other_user_may_read_a_file(tmp_path: Path) -> None:
    """It has the secret that seals the work area, as its log has; the group may, as far as the umask lets it."""
    with closing(Ledger(f"sqlite:///{tmp_path}/ledger.db")) as ledger:
        ledger.upgrade()
        assert len(ledger.secret) == 64
        modes = {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()}

    umask = os.umask(0)
    os.umask(umask)
    assert modes == dict.fromkeys(("ledger.db", "ledger.db-shm", "ledger.db-wal"), 0o660 & ~umask)


def test_what_a_driver_says_is_one_line() -> None:
    """Its hints follow on lines of their own."""
    with pytest.raises(LedgerUnavailableError, match="refused Is the server running") as refused:
        Ledger("postgresql://127.0.0.1:1/x").check()

    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("postgresql://me:pw@/db?host=/sock&sslmode=require", "postgresql://me@/db?host=%2Fsock&sslmode=require"),
        (
            "postgresql+psycopg://db:5433/x?options=-csearch_path%3Da",
            "postgresql://db:5433/x?options=-csearch_path%3Da",
        ),
        (
            "postgresql://db/x?password=pw&sslpassword=pw&oauth_client_secret=pw&sslkey=/k",
            "postgresql://db/x?sslkey=%2Fk",
        ),
        ("sqlite+pysqlite:////a b/l.db?timeout=5", "sqlite:////a b/l.db?timeout=5"),
    ],
)
def test_the_address_for_commands_has_parameters_and_no_secrets(url: str, address: str) -> None:
    """It leads to the same ledger, in the form in which people write it."""
    ledger = Ledger(url)

    assert ledger.address == address
    assert Ledger(address).address == address
    assert "?" not in ledger.name


@pytest.mark.parametrize(
    "url",
    [
        f"::{SECRET}",
        f"mysql://me:{SECRET}@host/db",
        f"postgresql+psycopg2://me:{SECRET}@host/db",
        "sqlite://",
        "sqlite://tmp/ledger.db",
        "sqlite:///:memory:",
    ],
)
def test_addresses_that_cannot_hold_a_ledger_are_refused(url: str) -> None:
    """Malformed URLs, other databases and drivers, hosts and files in memory are refused, without the password."""
    with pytest.raises(OptionsError, match=r"sqlite:////folder/file\.db") as caught:
        Ledger(url)

    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("rest", ["host/db", "host", "?host/db", "host/db?sslmode=require"])
def test_a_second_at_is_refused(rest: str) -> None:
    """What follows the first one would be taken for the host, and shown; an escaped one is a part of the password."""
    with pytest.raises(OptionsError, match="write one that belongs to the user or the password as %40") as caught:
        Ledger(f"postgresql://me:first@{SECRET}@{rest}")

    assert SECRET not in str(caught.value)
    assert Ledger("postgresql://me@firm:first%40second@host/db").name == "postgresql+psycopg://me%40firm@host/db"


@pytest.mark.parametrize("opened", [Ledger.upgrade, Ledger.check])
def test_a_file_that_is_no_ledger(tmp_path: Path, opened: Callable[[Ledger], object]) -> None:
    """A folder, or a file of something else, is refused in this package's words."""
    (tmp_path / "text.db").write_bytes(b"not a database at all, but long enough for a header" * 10)
    for name in ("", "text.db"):
        kind = LedgerSchemaError if name else LedgerUnavailableError  # which may be fixed, so that a retry helps
        with pytest.raises(kind, match=r"cannot be used: (unable to open|file is not a database)"):
            opened(Ledger(f"sqlite:///{tmp_path / name}"))


def test_a_transaction_that_need_not_last(ledger: Ledger) -> None:
    """It does not wait for the disk, others see it, and the next one waits again."""
    waits = "SHOW synchronous_commit" if ledger.name.startswith("postgres") else "PRAGMA synchronous"
    found = []
    for lasting in (False, True):
        with ledger.writing(lasting=lasting) as connection:
            found.append(str(connection.exec_driver_sql(waits).scalar()))
            connection.execute(tables.feeds.insert().values(name=f"{lasting}", created_at=ledger.now()))
    assert found in (["off", "on"], ["1", "2"])
    with ledger.reading() as connection:
        assert set(connection.scalars(select(tables.feeds.c.name))) == {"False", "True"}
