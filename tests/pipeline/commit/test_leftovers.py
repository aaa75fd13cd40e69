"""Leftovers in work areas: pruning clears it, beside another prune, and around a store that is down."""

from __future__ import annotations

import dataclasses
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.upkeep.sweeping import Attempts
from airflow_provider_blockread.ledger.windows.planning import Planner
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.upkeep import sweeping
from airflow_provider_blockread.steps.upkeep.pruning import Pruned, PruneRequest, propose_pruning, prune
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe

_ALL = PruneRequest(older_than=0, keep=0)
_DAY = 86_400.0
_KEEP = PruneRequest(older_than=_DAY, keep=9)


class _Died(BaseException):
    """A process that is gone."""


def _left(here: Pipe) -> list[str]:
    """Return the files in the work area, but the one that names its ledger."""
    return sorted(path.name for path in here.work.rglob("*") if path.is_file() and path.name != "ledger")


def test_a_torn_mark_goes(here: Pipe) -> None:
    """What a process that died left of noting the ledger goes once nobody can be writing it."""
    here.put({"a.txt": b"a\n"})
    here.run("w")
    (mark,) = here.work.rglob("ledger")
    torn, fresh = mark.with_name(".ledger.0123.tmp"), mark.with_name(".ledger.4567.tmp")
    for file in (torn, fresh):
        file.touch()
    os.utime(torn, (0, 0))
    here.pass_seconds(_DAY)
    prune(here.env, _ALL)

    assert _left(here) == [fresh.name]


def test_a_call_that_is_stopped_has_not_searched_in_vain(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one goes on with other windows, so that tasks that may not take long get through all of them."""
    for key in "uvw":
        here.put({f"{key}.txt": b"a\n"})
        here.run(key)
    here.pass_seconds(3 * _DAY)
    monkeypatch.setattr(sweeping, "_SWEPT", 2)
    searched: list[str] = []
    find = sweeping.leftovers_of

    def die(env: Environment, window: Window, attempts: Attempts) -> Iterator[str]:
        searched.append(window.key)
        if len(searched) == 3:
            raise _Died
        return find(env, window, attempts)

    monkeypatch.setattr(sweeping, "leftovers_of", die)
    for ends in (pytest.raises(_Died), nullcontext()):
        with ends:
            prune(here.env, PruneRequest(older_than=100 * _DAY, keep=0))
    assert (len(searched), set(searched)) == (4, set("uvw"))


def test_the_manifest_of_a_dead_planner_goes(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the window is empty, whatever else was half written there; a window that was opened since keeps its own."""

    def die(planner: Planner, _: object) -> None:
        planner._ended = True  # a killed process gives nothing back
        raise _Died

    here.put({"a.txt": b"a\n"})
    with monkeypatch.context() as patched:
        patched.setattr(Planner, "open", die)
        with pytest.raises(_Died):
            here.plan("dead")
    (manifest,) = here.work.rglob(f"{get_window(here.env.ledger, 'dead').id}/manifest-*")
    manifest.with_name(".half.tmp").touch()
    assert prune(here.env, _ALL).leftovers == 0  # the planner may live
    here.plan("later")

    intent = propose_pruning(here.env, _ALL)
    assert (intent.leftovers, intent.windows[0].key) == (1, "dead")

    class Slow(Stores):
        def remove_folder(self, uri: str) -> None:
            with closing(sqlite3.connect(here.folder / "ledger.db", timeout=0)) as other:
                other.execute("BEGIN IMMEDIATE")  # the ledger is not locked meanwhile
            super().remove_folder(uri)

    assert prune(dataclasses.replace(here.env, stores=Slow()), _ALL) == Pruned(
        windows=0, files=0, leftovers=1, listings=0
    )
    assert not manifest.parent.exists()
    assert prune(here.env, _ALL).leftovers == 0
    assert here.run("later").records == 1
    here.pass_seconds(_DAY)
    assert prune(here.env, _ALL).windows == 1
    assert _left(here) == []
    assert here.values() == ["a"]


def test_two_prune_at_once(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """The slower one continues where the faster one is done already."""
    here.put({"a.txt": b"a\n"})
    here.run()
    here.pass_seconds(_DAY)
    other, unlink, calls = here.environment("ledger.db"), os.unlink, []

    def overtaken(name: Any, **options: Any) -> None:
        calls.append(name)
        if len(calls) == 2:
            prune(other, _ALL)
        unlink(name, **options)

    monkeypatch.setattr(os, "unlink", overtaken)
    prune(here.env, _ALL)
    other.ledger.close()

    assert _left(here) == []
    assert (here.values(), here.plan("next").status) == (["a"], "empty")


class _Down(Stores):
    """Stores of which one place cannot be reached."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self.place = str(place)

    def remove(self, uri: str) -> None:
        self._reach(uri)
        super().remove(uri)

    def remove_folder(self, uri: str) -> None:
        self._reach(uri)
        super().remove_folder(uri)

    def list_folders(self, folder: str) -> list[str]:
        self._reach(folder)
        return super().list_folders(folder)

    def _reach(self, uri: str) -> None:
        if self.place in uri:
            msg = f"{uri} cannot be reached; try again when it is back"
            raise SourceError(msg)


@pytest.mark.slow
def test_a_work_area_that_is_down_costs_its_own_windows(here: Pipe) -> None:
    """The others are pruned; the error names what is left, and the next call continues with that."""
    for key in ("one", "two", "three"):
        here.put({f"{key}.txt": f"{key}\n".encode()})
        here.out_name = key
        here.run(key)
    here.pass_seconds(_DAY)
    keep, plain = PruneRequest(older_than=0, keep=9), here.env
    here.env = dataclasses.replace(plain, stores=_Down(here.folder / "two.blockread"))
    two = get_window(plain.ledger, "two").id

    assert f"window {two} 'two' of feed feed cannot be cleared" in propose_pruning(here.env, keep).all_warnings()[-1]
    for request in (keep, _ALL):
        with pytest.raises(SourceError, match=f"(?s)window {two} 'two' .* cannot be reached.*tried again") as error:
            prune(here.env, request)
        assert str(error.value).count("cannot be cleared") == 1
    left = [name for name in ("one", "two", "three") if any((here.folder / f"{name}.blockread/feed").rglob("*.json"))]
    assert left == ["two"]

    assert prune(plain, PruneRequest(older_than=_DAY * 9, keep=9)).windows == 1  # begun, so it is ended
    here.out_name = "two"
    assert _left(here) == []
    assert all(summary.window.pruned_at for summary in list_windows(plain.ledger))


def test_errors_of_the_work_area_keep_their_kind(here: Pipe) -> None:
    """A file that is missing stays one that is missing, so that the caller knows whether to try again."""
    here.put({"a.txt": b"a\n"})
    here.run()
    here.pass_seconds(_DAY)

    class Gone(Stores):
        def remove(self, uri: str) -> None:
            raise FileMissingError(uri)

    here.env = dataclasses.replace(here.env, stores=Gone())
    with pytest.raises(FileMissingError, match="some work areas are left"):
        prune(here.env, _ALL)


def test_a_window_is_searched_for_leftovers_until_its_attempts_are_over(here: Pipe) -> None:
    """Each call looks at windows of the last day, and at older ones only if they were read again since."""
    here.put({"a.txt": b"a\n"})
    here.run()
    folder = here.work / "feed" / get_window(here.env.ledger, "w").id

    def is_removed(attempt: str) -> bool:
        (folder / attempt).mkdir(parents=True)
        prune(here.env, _KEEP)
        return not (folder / attempt).exists()

    assert is_removed("g1/00000-e7")
    assert is_removed("g1/00000-e8")
    here.pass_seconds(2 * _DAY)
    assert is_removed("g1/00000-e9")
    assert not is_removed("g1/00000-e10")
    assert propose_pruning(here.env, _KEEP).is_empty

    here.run(clear_number=1)
    prune(here.env, _KEEP)
    assert not (folder / "g1/00000-e10").exists()
