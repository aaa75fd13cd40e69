"""Disks and servers that fail: an error that says what to do, and nothing half written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event, func, select, text

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import BlockReadError, LedgerSchemaError, LedgerUnavailableError, OptionsError
from airflow_provider_blockread.ledger import trouble
from airflow_provider_blockread.ledger.feeds import open_feed
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.schema.tables import feeds, files
from airflow_provider_blockread.ledger.store import Ledger
from tests.disks import run_without_rights
from tests.ledger.make import FEED, version

_BATCH = 500
_LISTED = 20_000
# Writes batch after batch until the file may not grow any more, as on a disk that is full.
_FILL = f"""
import resource, sys
from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.store import Ledger
resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
versions = (FileVersion(path=f"file:///in/{{n:06}}", size=1, mtime_ns=n) for n in range({_LISTED}))
try:
    record_files(Ledger(sys.argv[1]), "{FEED}", versions, batch_size={_BATCH})
except Exception as error:
    print(type(error).__name__, error)
"""


_READ = """
from airflow_provider_blockread.ledger.store import Ledger
try:
    Ledger("sqlite:///{}").check()
except Exception as error:
    print(type(error).__name__, error)
"""


def _count(ledger: Ledger) -> int:
    with ledger.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(files)).scalar_one())


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    """The error says so, whole batches are kept, and a repetition with more room finds the rest."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.upgrade()
    done = subprocess.run(
        [sys.executable, "-c", _FILL, f"sqlite:///{tmp_path / 'ledger.db'}"], capture_output=True, text=True, check=True
    )
    kept = _count(ledger)

    assert done.stdout.startswith("LedgerUnavailableError ledger sqlite:"), done.stderr
    assert "free space on its disk, then retry" in done.stdout
    assert 0 < kept < _LISTED
    versions = (FileVersion(path=f"file:///in/{n:06}", size=1, mtime_ns=n) for n in range(_LISTED))
    assert record_files(ledger, FEED, versions).new == _LISTED - kept
    assert _count(ledger) == _LISTED
    ledger.close()


def test_a_file_that_may_only_be_read(tmp_path: Path) -> None:
    """Reading works; writing says who must be let in."""
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.upgrade()
    ledger.close()
    read_only = Ledger(f"sqlite:///file:{tmp_path / 'ledger.db'}?mode=ro&uri=true")
    read_only.check()

    with pytest.raises(LedgerUnavailableError, match="readonly database; let the account that runs this write"):
        open_feed(read_only, FEED)
    read_only.close()


def test_a_reader_does_not_lock_out_the_writers(tmp_path: Path) -> None:
    """SQLite would create a log with the reader's name and the file's mode, to which no writer may write."""
    file = tmp_path / "ledger.db"
    with closing(Ledger(f"sqlite:///{file}")) as ledger:
        ledger.upgrade()
        file.chmod(0o440)
        assert run_without_rights(_READ.format(file)) == ""  # the log is there
    says = run_without_rights(_READ.format(file))

    assert says.startswith("LedgerUnavailableError ")
    assert "reading it would lock out those who may write; let the account that runs this write to the file" in says
    assert [found.name for found in tmp_path.iterdir()] == ["ledger.db"]
    file.chmod(0o640)
    assert run_without_rights(_READ.format(file)) == ""


def test_a_name_that_is_too_long_for_its_log(tmp_path: Path) -> None:
    """It is a ledger that cannot be opened, whatever the system says about the names of its log."""
    ledger = Ledger(f"sqlite:///{tmp_path / ('n' * 253)}")
    with closing(ledger), pytest.raises(LedgerUnavailableError, match="let the account that runs this open it"):
        ledger.upgrade()


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file where a folder is needed is reported, not left to the operating system's error."""
    (tmp_path / "taken").touch()
    ledger = Ledger(f"sqlite:///{tmp_path / 'taken' / 'home' / 'ledger.db'}")

    with pytest.raises(LedgerUnavailableError, match="its folder cannot be created"):
        ledger.upgrade()


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "fuse.sshfs", "fuse.rclone", "gfs2"])
def test_a_network_file_system_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """SQLite is refused where its locks do not hold, and only there."""
    shared, local = tmp_path / "my share", tmp_path / "my share" / "local"
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"rootfs / ext4 rw 0 0\nhost:/x {str(shared).replace(' ', chr(92) + '040')} {kind} rw 0 0\n"
        f"disk {str(local).replace(' ', chr(92) + '040')} ext4 rw 0 0\n"
    )
    monkeypatch.setattr(trouble, "_MOUNTS", mounts)

    with pytest.raises(OptionsError, match=rf"network file system \({kind} at .*my share\).*put it on a local disk"):
        Ledger(f"sqlite:///{shared / 'ledger.db'}").upgrade()
    link = tmp_path / "link"
    link.symlink_to(shared)
    for url in (f"sqlite:///{link}/ledger.db", f"sqlite:///file:{shared}/ledger.db?uri=true"):
        with pytest.raises(OptionsError, match="network file system"):
            Ledger(url).upgrade()
    assert not (shared / "ledger.db").exists()
    for folder in (local, tmp_path / "elsewhere"):
        ledger = Ledger(f"sqlite:///{folder / 'ledger.db'}")
        ledger.upgrade()
        ledger.close()


def test_a_file_that_is_damaged_or_of_something_else(tmp_path: Path) -> None:
    """A retry cannot help, so the error is none that asks for one; it says what does."""
    (tmp_path / "other.db").touch()
    other = Ledger(f"sqlite:///{tmp_path / 'other.db'}")
    with other.writing() as connection:
        connection.execute(text("CREATE TABLE windows (a INTEGER)"))
    with pytest.raises(LedgerSchemaError, match=r"already exists; .* give the ledger a place of its own"):
        other.upgrade()
    other.close()
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    ledger.upgrade()
    ledger.close()
    with (tmp_path / "ledger.db").open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 8_000)
    with pytest.raises(LedgerSchemaError, match=r"malformed.*; its file is damaged: restore it from a backup"):
        ledger.check()
    ledger.close()


@pytest.mark.parametrize(
    ("said", "state", "advice"),
    [
        ('FATAL:  database "x" does not exist', None, "create it (`CREATE DATABASE"),
        ('FATAL:  role "x" does not exist', None, "create its user (`CREATE ROLE"),
        ('FATAL:  password authentication failed for user "x"', None, "correct the user or the password"),
        ("FATAL:  sorry, too many clients already", None, "raise its max_connections"),
        ("canceling statement due to lock timeout", "55P03", "pg_stat_activity"),
        ("canceling statement due to statement timeout", "57014", "SET statement_timeout"),
        ("query_wait_timeout", "08P01", "`default_pool_size`"),
        ("FATAL:  no more connections allowed (max_client_conn)", None, "`max_client_conn`"),
        ("idle transaction timeout", None, "SET idle_in_transaction_session_timeout"),
        ("permission denied for schema public", "42501", "GRANT USAGE, CREATE ON SCHEMA"),
        ("permission denied for table feeds", "42501", "write to all tables"),
        ("no schema has been selected to create in", "3F000", "CREATE SCHEMA"),
        ("database is locked", None, "held the lock for too long"),
        ("connection refused", None, "check that it is up and reachable"),
    ],
)
def test_advice(said: str, state: str | None, advice: str) -> None:
    """Each complaint of a database has its own."""
    assert advice in trouble.remedy(said, state)


on_a_server = pytest.mark.parametrize("url", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)


@on_a_server
def test_a_server_that_only_reads(ledger: Ledger, url: str) -> None:
    """A standby is distinguished from one that is down."""
    assert ledger.uuid
    standby = Ledger(f"{url}%20-cdefault_transaction_read_only%3Don")
    standby.check()

    with pytest.raises(LedgerUnavailableError, match="it is read-only: name the primary server"):
        open_feed(standby, FEED)
    standby.close()


@on_a_server
def test_a_user_without_rights(ledger: Ledger, url: str) -> None:
    """What the server forbids is reported as that, not as a mistake of this package."""
    with ledger.writing() as connection:
        schema = connection.scalar(text("SELECT current_schema()"))
        connection.execute(text(f"CREATE ROLE {schema}_reader"))
        connection.execute(text(f"GRANT USAGE ON SCHEMA {schema} TO {schema}_reader"))
        connection.execute(text(f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {schema}_reader"))
    reader = Ledger(f"{url}%20-crole%3D{schema}_reader")
    reader.check()

    with pytest.raises(LedgerUnavailableError, match=r"permission denied.*let its user write to all tables"):
        open_feed(reader, FEED)
    reader.close()


@on_a_server
def test_a_server_where_no_ledger_can_be_made(url: str) -> None:
    """What is missing is named with the statement that helps: a right, a schema, a database, or free names."""
    server, _, schema = url.rpartition("%3D")
    database, _, query = url.partition("?")
    other = Ledger(url)
    with other.writing() as connection:
        connection.execute(text("CREATE TABLE feeds (a int)"))
        connection.execute(text(f"CREATE ROLE {schema}_poor"))
        connection.execute(text(f"GRANT USAGE ON SCHEMA {schema} TO {schema}_poor"))
    for address, says in (
        (f"{url}%20-crole%3D{schema}_poor", r"permission denied for schema \w+; .*`GRANT USAGE, CREATE ON SCHEMA"),
        (f"{server}%3Dnone", "no schema has been selected to create in; create the schema"),
        (f"{database}_none?{query}", r"does not exist; create it \(`CREATE DATABASE"),
        (url, "already exists; .* give the ledger a place of its own"),
    ):
        with closing(Ledger(address)) as refused, pytest.raises(BlockReadError, match=says):
            refused.upgrade()
    other.close()


@on_a_server
def test_a_connection_that_drops_in_a_transaction(ledger: Ledger, url: str) -> None:
    """Nothing of the transaction is kept, and the next call has a new connection."""
    other = Ledger(url)

    def write() -> None:
        with ledger.writing() as connection:
            connection.execute(feeds.insert().values(name="half", created_at=ledger.now()))
            process = connection.scalar(text("SELECT pg_backend_pid()"))
            with other.writing() as second:
                assert second.scalar(text("SELECT pg_terminate_backend(:process, 5000)"), {"process": process})
            connection.execute(feeds.insert().values(name="other half", created_at=ledger.now()))

    with pytest.raises(LedgerUnavailableError, match=r"terminating connection.*check that it is up and reachable"):
        write()
    with ledger.reading() as connection:
        assert connection.execute(select(feeds.c.name)).all() == []
    assert record_files(ledger, FEED, [version("a")]).new == 1
    other.close()


@on_a_server
def test_connections_that_drop_while_files_are_listed(ledger: Ledger, url: str) -> None:
    """Between two batches nobody notices: the next one has a new connection."""

    def listing() -> Iterator[FileVersion]:
        for number in range(3 * _BATCH):
            if number == 2 * _BATCH:
                _drop_all(url)
            yield version(f"{number:05}")

    assert record_files(ledger, FEED, listing(), batch_size=_BATCH).new == 3 * _BATCH
    assert _count(ledger) == 3 * _BATCH


def _drop_all(server: str) -> None:
    other = Ledger(server)
    with other.reading() as connection:
        others = "pid <> pg_backend_pid() AND backend_type = 'client backend'"
        connection.execute(text(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE {others}"))  # noqa: S608 - a constant
    other.close()


def test_a_server_that_is_gone_without_a_word() -> None:
    """Its silence ends a connection after two minutes, not after two hours; parameters of the URL take precedence."""
    given: dict[str, object] = {}
    ledger = Ledger("postgresql://me@127.0.0.1:1/db?keepalives_idle=7&connect_timeout=33")

    @event.listens_for(ledger._live_engine(), "do_connect")
    def note(*call: Any) -> None:
        given.update(call[3])

    with pytest.raises(LedgerUnavailableError):
        ledger.check()
    assert (given["keepalives_idle"], given["connect_timeout"]) == ("7", "33")
    assert (given["keepalives_count"], given["tcp_user_timeout"]) == (6, 120_000)
