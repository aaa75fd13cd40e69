"""A ledger from a backup that is older than what a window has published: no record is lost, and none is there twice."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest
from deltalake import DeltaTable

from airflow_provider_blockread.errors import BlockReadError, OptionsError, TransientError, WrongLedgerError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import SINKS
from airflow_provider_blockread.sinks.tables.table import Table
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, propose_abandoning, propose_undoing, undo
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import KINDS

pytestmark = pytest.mark.slow  # into each kind of table

_ALL = ["a1", "a2", "b1", "b2"]


@pytest.fixture(params=[name for name in SINKS if not KINDS[name].like])
def pipe(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pipe]:
    """A feed into each kind of sink, with files to read."""
    made = Pipe(folder=tmp_path, submitter=ReadHere(), kind=request.param)
    made.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    yield made
    made.close()


def _swap(pipe: Pipe, source: str, target: str) -> None:
    """Copy one ledger over another while nobody has it open."""
    pipe.close()
    shutil.copy(pipe.folder / source, pipe.folder / target)
    pipe.env = pipe.environment("ledger.db")


def _forget(pipe: Pipe, change: Callable[[], object]) -> None:
    """Make a change, and restore the ledger from a backup that is older; there is a newer one, too."""
    _swap(pipe, "ledger.db", "older.db")
    change()
    _swap(pipe, "ledger.db", "newer.db")
    _swap(pipe, "older.db", "ledger.db")


def _is_table(pipe: Pipe) -> bool:
    return KINDS[pipe.kind].table is not None


def test_a_rebuild_is_forgotten(pipe: Pipe) -> None:
    """A table refuses another rebuild and an undo, since it has rows that the ledger lacks; a directory drops those."""
    pipe.run()
    _forget(pipe, lambda: pipe.run(clear_number=1))
    if _is_table(pipe):
        window = get_window(pipe.env.ledger, "w")
        for refused in (
            lambda: pipe.run(clear_number=1),
            lambda: pipe.run(clear_number=2),
            lambda: propose_undoing(pipe.env, window),
            lambda: undo(pipe.env, window, who="me"),
        ):
            with pytest.raises(WrongLedgerError, match=r"generation 2 of window .*restored from a backup"):
                refused()
    else:
        pipe.run(clear_number=1)

    assert sorted(pipe.values()) == _ALL


@pytest.mark.parametrize("remedy", ["newer backup", "another feed"])
@pytest.mark.parametrize("pipe", ["delta"], indirect=True)
def test_the_way_on(pipe: Pipe, remedy: str) -> None:
    """With a newer backup, or without the rows and under another name, each record is there once."""
    pipe.run()
    _forget(pipe, lambda: pipe.run(clear_number=1))
    with pytest.raises(WrongLedgerError, match="restore a newer one; or remove the rows of the feed from the table"):
        pipe.run(clear_number=1)
    if remedy == "newer backup":
        _swap(pipe, "newer.db", "ledger.db")
    else:
        DeltaTable(str(pipe.out)).delete()
        pipe.feed = "other"
    pipe.run(clear_number=2)

    assert sorted(pipe.values()) == _ALL


def test_a_publication_is_forgotten(pipe: Pipe) -> None:
    """A window that was published is read again: its table refuses, and keeps the files of which it consists."""
    ref = pipe.plan()
    _forget(pipe, lambda: (pipe.read(ref), pipe.commit(ref)))
    pipe.read(ref)
    if _is_table(pipe):
        for _ in range(2):
            with pytest.raises(WrongLedgerError, match=r"generation 1 of window .*restored from a backup"):
                pipe.commit(ref)
        pipe.with_policies(on_bad_record="drop")
        with pytest.raises(WrongLedgerError, match=r"generation 1 of window .*restored from a backup"):
            pipe.run(clear_number=1)
    else:
        pipe.commit(ref)

    assert sorted(pipe.values()) == _ALL


@pytest.mark.parametrize("pipe", ["parquet", "delta"], indirect=True)
@pytest.mark.parametrize("was", ["unpublished", "published"])
def test_a_later_window_is_forgotten_that_took_the_files(pipe: Pipe, was: str) -> None:
    """What seems to be unfinished, or published, is not published again beside the window that has its files."""
    ref = pipe.plan("first")
    pipe.read(ref)
    if was == "published":
        pipe.commit(ref)

    def move() -> None:
        first = get_window(pipe.env.ledger, "first")
        abandon(pipe.env, first, who="me") if was == "unpublished" else undo(pipe.env, first, files="pending", who="me")
        pipe.run("second")

    _forget(pipe, move)
    for _ in range(2):
        with pytest.raises(WrongLedgerError, match=r"lacks windows that it has planned"):
            pipe.run("first", clear_number=1)
    assert sorted(pipe.values()) == _ALL
    _swap(pipe, "newer.db", "ledger.db")
    assert pipe.run("first", clear_number=1).status == "skipped"
    assert sorted(pipe.values()) == _ALL


def test_an_undo_is_forgotten(pipe: Pipe) -> None:
    """The window, which seems to be published, is read and published again."""
    pipe.run()
    _forget(pipe, lambda: undo(pipe.env, get_window(pipe.env.ledger, "w"), who="me"))
    assert pipe.values() == []
    pipe.run(clear_number=1)

    assert sorted(pipe.values()) == _ALL


def test_a_window_that_seems_unpublished_is_abandoned(pipe: Pipe) -> None:
    """The files of which a table consists are not taken for leftovers."""
    ref = pipe.plan()
    _forget(pipe, lambda: (pipe.read(ref), pipe.commit(ref)))
    window = get_window(pipe.env.ledger, "w")
    if _is_table(pipe):
        for give_up in (propose_abandoning, partial(abandon, who="me")):
            with pytest.raises(WrongLedgerError, match="restored from a backup"):
                give_up(pipe.env, window)
        assert get_window(pipe.env.ledger, "w").state == "open"
        assert sorted(pipe.values()) == _ALL
    else:
        abandon(pipe.env, window, who="me")
        assert pipe.values() == []


@pytest.mark.parametrize("pipe", [name for name in SINKS if KINDS[name].table], indirect=True)
@pytest.mark.parametrize("error", [OptionsError, TransientError])
def test_abandoning_where_the_table_refuses_everything(
    pipe: Pipe, error: type[BlockReadError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of which nothing is published can be given up, whatever is wrong with its table."""
    pipe.run("first")
    pipe.put({"c.txt": b"c1\n"})
    ref = pipe.plan()
    pipe.read(ref)

    def refuse(*_: object) -> NoReturn:
        msg = "this table is of another kind, or out of reach"
        raise error(msg)

    monkeypatch.setattr(Table, "_load", refuse)
    if error is OptionsError:
        monkeypatch.setattr(Table, "sweep", refuse)
    for files in (1, 0):
        assert abandon(pipe.env, get_window(pipe.env.ledger, "w"), who="me").files == files
