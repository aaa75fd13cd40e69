"""Ledgers that are copied into another database: a feed continues there as if nothing had happened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, select, text

from airflow_provider_blockread.errors import LedgerSchemaError, OptionsError
from airflow_provider_blockread.ledger.feeds import open_feed
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.schema.columns import metadata
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep import copying
from airflow_provider_blockread.ledger.upkeep.copying import copy_ledger
from airflow_provider_blockread.options import JsonLines, Policies
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.ledgers import open_ledger
from tests.pipeline.make import Pipe, ReadHere


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A feed with windows that are published, quarantined, rebuilt, undone and unfinished."""
    folder = tmp_path / "pipe"
    folder.mkdir()
    made = Pipe(
        folder=folder,
        submitter=ReadHere(),
        record_format=JsonLines(schema="value string"),
        policies=Policies(on_bad_record="quarantine"),
    )
    for key in ("a", "b"):
        made.put({f"{key}.txt": b'{"value": "1"}\n{"value": "2"}\nnone\n'})
        made.run(key)
    made.run("a", clear_number=1)
    made.put({"c.txt": b'{"value": "3"}'})
    made.run("c")
    window = next(found.window for found in list_windows(made.env.ledger, made.feed) if found.window.key == "c")
    undo(made.env, window, who="me")
    made.put({"d.txt": b'{"value": "4"}'})
    made.plan("d")
    yield made
    made.close()


def _rows(ledger: Ledger) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of a ledger, by table."""
    with ledger.reading() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(select(table)).all()), key=repr)
            for table in metadata.sorted_tables
        }


def test_a_copy_goes_on_where_the_ledger_was(pipe: Pipe, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is there, there and back; each record is published once, and no id is given twice."""
    monkeypatch.setattr(copying, "_ROWS", 2)
    source = pipe.env.ledger
    with source.writing() as connection:  # the newest row is gone, whose id a watcher may know
        connection.execute(listings.delete().where(listings.c.id > 1))
    before, there = _rows(source), Ledger(url)
    with source.reading() as connection:
        newest = connection.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = 'listings'"))
    assert copy_ledger(source, there) == sum(map(len, before.values())) - len(before["blockread_version"])
    back = Ledger(f"sqlite:///{pipe.folder}/back.db")
    copy_ledger(there, back)
    assert _rows(there) == _rows(back) == before
    for ledger in (there, back):
        assert (ledger.uuid, ledger.secret) == (source.uuid, source.secret)
    if url.startswith("postgresql"):
        with there.reading() as connection:
            assert connection.scalar(text("SELECT reltuples FROM pg_class WHERE oid = 'files'::regclass")) == len(
                before["files"]
            ), "PostgreSQL would scan its tables until it counts their rows by itself"
    source.close()

    pipe.env = pipe.environment("back.db")
    pipe.run("d")
    pipe.run("a", clear_number=2)
    assert pipe.run("e").status == "empty"
    with pipe.env.ledger.reading() as connection:
        assert connection.scalar(select(listings.c.id).order_by(-listings.c.id)) > newest
    assert pipe.values() == ["1", "1", "2", "2", "4"]
    back.close()
    there.close()


def test_a_ledger_in_use_is_not_overwritten(pipe: Pipe, url: str) -> None:
    """Nor is one of an older schema read; a copy that failed can be repeated."""
    with closing(open_ledger(url)) as other:
        with pytest.raises(LedgerSchemaError, match="does not exist"):
            copy_ledger(Ledger(f"sqlite:///{pipe.folder}/none.db"), other)
        assert copy_ledger(pipe.env.ledger, other)
        assert open_feed(other, pipe.feed) == 1
        with pytest.raises(OptionsError, match="is in use already; name a new file, or an empty database or schema"):
            copy_ledger(pipe.env.ledger, other)


def test_a_copy_that_fails_leaves_nothing(pipe: Pipe, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one transaction."""

    def full(*_: object) -> int:
        raise ConnectionError

    with closing(open_ledger(url)) as other:
        own = other.uuid
        with monkeypatch.context() as broken:
            broken.setattr(copying, "set_last_id", full)
            with pytest.raises(ConnectionError):
                copy_ledger(pipe.env.ledger, other)
        with closing(Ledger(url)) as again:
            assert again.uuid == own
        assert copy_ledger(pipe.env.ledger, other)
        with other.reading() as connection:
            assert set(inspect(connection).get_table_names()) >= set(metadata.tables)
