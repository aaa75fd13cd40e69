"""The file of a SQLite ledger, while processes have it open."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sqlalchemy import select

from airflow_provider_blockread.ledger.feeds import open_feed
from airflow_provider_blockread.ledger.schema.tables import feeds
from airflow_provider_blockread.ledger.store import Ledger
from tests.ledgers import open_ledger


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
