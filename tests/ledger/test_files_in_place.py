"""The file of a SQLite ledger, while processes have it open."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import select, text

from airflow_provider_blockread.errors import LedgerSchemaError
from airflow_provider_blockread.ledger.feeds import open_feed
from airflow_provider_blockread.ledger.schema.tables import feeds
from airflow_provider_blockread.ledger.store import Ledger
from tests.ledgers import open_ledger

# Takes two of SQLite's locks, and makes the index of the log as invalid as a writer that dies leaves it.
_RECOVER = """
import fcntl, os, sys, time
shared = os.open(sys.argv[1], os.O_RDWR)
for lock in (120, 122):  # to write, to recover
    fcntl.lockf(shared, fcntl.LOCK_EX, 1, lock)
header = os.pread(shared, 96, 0)
os.pwrite(shared, bytes(96), 0)
print("recovering", flush=True)
time.sleep(0.3)
os.pwrite(shared, header, 0)
"""


def _names(ledger: Ledger) -> list[str]:
    with ledger.reading() as connection:
        return list(connection.scalars(select(feeds.c.name).order_by(feeds.c.id)))


def test_a_backup_that_is_put_in_the_place_of_an_open_file(tmp_path: Path) -> None:
    """Processes that are at work, such as the pages, go on with the backup; else what they write would be lost."""
    file = tmp_path / "ledger.db"
    with closing(open_ledger(f"sqlite:///{file}")) as ledger, closing(Ledger(f"sqlite:///{file}")) as pages:
        open_feed(ledger, "a")
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(tmp_path / "copy.db")) as copy:
            source.backup(copy)
        open_feed(ledger, "lost")
        assert _names(pages) == ["a", "lost"]
        for log in ("-wal", "-shm"):
            Path(f"{file}{log}").unlink()
        (tmp_path / "copy.db").replace(file)

        open_feed(pages, "b")
        assert _names(ledger) == _names(pages) == ["a", "b"]
    with closing(Ledger(f"sqlite:///{file}")) as later:
        assert _names(later) == ["a", "b"]


def test_a_copy_without_the_log(tmp_path: Path) -> None:
    """It may have no table yet; with the log, it is the ledger."""
    file, copy = tmp_path / "ledger.db", tmp_path / "copy.db"
    with closing(Ledger(f"sqlite:///{file}")) as ledger, closing(Ledger(f"sqlite:///{copy}")) as copied:
        ledger.upgrade()
        open_feed(ledger, "a")
        shutil.copy(file, copy)
        with pytest.raises(LedgerSchemaError, match=r"no ledger yet \(a copy of one needs its file with -wal, too"):
            copied.check()
        shutil.copy(f"{file}-wal", f"{copy}-wal")

        copied.check()
        assert (copied.uuid, _names(copied)) == (ledger.uuid, ["a"])


def test_a_writer_waits_while_another_process_recovers_the_log(tmp_path: Path) -> None:
    """As one does after another died while it wrote: SQLite then says that it is busy by another number."""
    file = tmp_path / "ledger.db"
    with closing(open_ledger(f"sqlite:///{file}")) as ledger:
        open_feed(ledger, "a")
        recovering = subprocess.Popen([sys.executable, "-c", _RECOVER, f"{file}-shm"], stdout=subprocess.PIPE)
        with recovering:
            assert recovering.stdout is not None
            assert recovering.stdout.readline()
            with ledger.writing() as connection:
                connection.execute(feeds.insert().values(name="b", created_at=ledger.now()))
        assert _names(ledger) == ["a", "b"]


def test_the_log_is_cut_after_a_long_reader(tmp_path: Path) -> None:
    """It grows while somebody reads, and takes no more of the disk afterwards, although the pages have it open."""
    file, log = tmp_path / "ledger.db", tmp_path / "ledger.db-wal"
    with closing(open_ledger(f"sqlite:///{file}")) as ledger:
        with closing(sqlite3.connect(file)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM feeds").fetchall()
            _write(ledger, 70 * 2**20)
            assert log.stat().st_size > 64 * 2**20
        for _ in range(3):
            _write(ledger, 2**20)
        assert log.stat().st_size <= 64 * 2**20


def _write(ledger: Ledger, size: int) -> None:
    with ledger.writing() as connection:
        connection.execute(text("CREATE TABLE IF NOT EXISTS big (content BLOB)"))
        connection.execute(text("DELETE FROM big"))
        connection.execute(text("INSERT INTO big VALUES (zeroblob(:size))"), {"size": size})
