"""Runs, rebuilds, abandons, undos and cleaning in any order, each dying anywhere: a record is seen once, or never."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from airflow_provider_blockread.errors import CleanedError
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps.plan import cleaned, replaying
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.plan.cleaned import restore_files
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep import cleaning, cleaning_files, rebuilding
from airflow_provider_blockread.steps.upkeep.cleaning import clean
from airflow_provider_blockread.steps.upkeep.cleaning_scope import CleanRequest
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.examples import examples
from tests.pipeline.dying import place
from tests.pipeline.make import Pipe, ReadHere

_STEPS: list[tuple[Any, str]] = [
    *(place(name) for name in ("mark_proven", "journal", "publish_file", "remove_file", "confirm_entries")),
    *(place(name) for name in ("sweep", "finish_publication")),
    *((rebuilding, name) for name in ("plan_newer", "start_requested", "open_ref", "finish_request")),
    *((replaying, name) for name in ("choose_newer", "start_corrected", "open_ref")),
    *(place(name) for name in ("release_files", "finish_withdrawal")),
    *((cleaning, name) for name in ("write_down", "finish_cleaning")),
    (cleaning_files, "found_at"),
    *((cleaned, name) for name in ("mark_back", "found_at")),
]
_DEATHS = st.none() | st.tuples(st.sampled_from(_STEPS), st.integers(0, 2))


class _Died(BaseException):
    """A process that is gone."""


class Upkeep(RuleBasedStateMachine):
    """Files in groups of their own; the model knows which file is in which window, and what readers must see."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="blockread-")
        self.pipe = Pipe(folder=Path(self.folder.name), submitter=ReadHere(), group_bytes=6)
        self.files = self.keys = self.clears = 0
        self.waiting: set[int] = set()
        self.excluded: dict[str, set[int]] = {}
        self.planned: dict[str, set[int]] = {}
        self.published: dict[str, set[int]] = {}
        self.changes: Counter[int] = Counter()  # of files
        self.away: set[int] = set()  # files that are in the archive

    def teardown(self) -> None:
        """Close the ledger and remove the folder."""
        self.pipe.close()
        self.folder.cleanup()

    @rule(count=st.integers(1, 3))
    def land(self, count: int) -> None:
        """Files land."""
        for _ in range(count):
            self.files += 1
            self._write(self.files)
            self.waiting.add(self.files)

    @precondition(lambda self: self.waiting)
    @rule(read=st.booleans())
    def plan(self, *, read: bool) -> None:
        """A window is planned, and perhaps read in part."""
        self.keys += 1
        key = f"k{self.keys}"
        ref = self.pipe.plan(key)
        self.planned[key], self.waiting = self.waiting, set()
        if read:
            self.pipe.read(ref, groups=[0])

    @precondition(lambda self: self.planned)
    @rule(data=st.data(), death=_DEATHS, way=st.sampled_from(["clear", "reprocess", "listed"]), goes_on=st.booleans())
    def correct(self, data: st.DataObject, death: Any, way: str, *, goes_on: bool) -> None:
        """A file of a planned window is corrected, perhaps listed; the window is read with it, or only planned."""
        key = data.draw(st.sampled_from(sorted(self.planned)))
        file = data.draw(st.sampled_from(sorted(self.planned[key])))
        self.changes[file] += 1
        self._write(file)
        if way == "listed":
            self.keys += 1
            self.planned[f"k{self.keys}"], self.waiting = self.waiting, set()
            if self.pipe.plan(f"k{self.keys}").status == "empty":
                del self.planned[f"k{self.keys}"]
        if way != "reprocess":
            self.clears += 1
            cleared = self.clears
            run = self.pipe.run if goes_on else self.pipe.plan
            self._do(lambda: run(key, clear_number=cleared), death)
        else:
            files = FileChoice(path=f"{file}.txt")
            asked = RebuildRequest(range=WindowRange(window=key), files=files)
            runner = WindowRunner(env=self.pipe.env, owner="test", job=self.pipe.job, submitter=self.pipe.submitter)
            self._do(lambda: rebuild(self.pipe.env, asked, runner), death)
        if goes_on or way == "reprocess":
            self.published[key] = self.planned.pop(key)

    @precondition(lambda self: self.planned)
    @rule(data=st.data(), death=_DEATHS)
    def publish(self, data: st.DataObject, death: Any) -> None:
        """A planned window is taken to its end."""
        key = data.draw(st.sampled_from(sorted(self.planned)))
        self._do(lambda: self.pipe.run(key), death)
        self.published[key] = self.planned.pop(key)

    @precondition(lambda self: self.planned)
    @rule(data=st.data(), death=_DEATHS)
    def abandon(self, data: st.DataObject, death: Any) -> None:
        """A planned window is given up."""
        key = data.draw(st.sampled_from(sorted(self.planned)))
        self._do(lambda: abandon(self.pipe.env, self._window(key), who="me"), death)
        self.waiting |= self.planned.pop(key)

    @precondition(lambda self: self.published)
    @rule(data=st.data(), death=_DEATHS, fate=st.sampled_from(["pending", "excluded"]))
    def undo(self, data: st.DataObject, death: Any, fate: str) -> None:
        """A published window is taken away."""
        self._undo(data.draw(st.sampled_from(sorted(self.published))), death, fate)

    @precondition(lambda self: self.excluded)
    @rule(data=st.data(), death=_DEATHS)
    def give_back(self, data: st.DataObject, death: Any) -> None:
        """The files of a window that was taken away go back after all."""
        key = data.draw(st.sampled_from(sorted(self.excluded)))
        self._bring_back(key)
        self._do(lambda: undo(self.pipe.env, self._window(key), files="pending", who="me"), death)
        self.waiting |= self.excluded.pop(key)

    @precondition(lambda self: self.published)
    @rule(data=st.data(), death=_DEATHS, gives_up=st.booleans())
    def rebuild(self, data: st.DataObject, death: Any, *, gives_up: bool) -> None:
        """Published windows are read again, whole or for a file that may have changed, or by a clear; or undone."""
        key = data.draw(st.sampled_from(sorted(self.published)))
        for name in sorted(self.published):
            self._bring_back(name)
        way = data.draw(st.sampled_from(["clear", "window", "feed", "files", "newer"]))
        self.clears += way == "clear"
        file = min(self.published[key])
        if way == "newer":
            self.changes[file] += 1
            self._write(file)
        files = FileChoice(path=f"{file}.txt") if way in {"files", "newer"} else None
        which = WindowRange(feed="feed") if way == "feed" else WindowRange(window=key)
        runner = WindowRunner(env=self.pipe.env, owner="test", job=self.pipe.job, submitter=self.pipe.submitter)

        def again() -> object:
            if way == "clear":
                return self.pipe.run(key, clear_number=self.clears)
            return rebuild(self.pipe.env, RebuildRequest(range=which, files=files), runner)

        if gives_up and self._dies(again, death):
            self.pipe.pass_seconds(1000)
            self._undo(key, None, "pending")
        self._do(again if key in self.published else lambda: None, None if gives_up else death)
        if way == "feed":
            self._do(again, None)  # what was left of the others, if it died

    @precondition(lambda self: self.keys)
    @rule(death=_DEATHS)
    def clean(self, death: Any) -> None:
        """What is published is archived, and nothing else."""
        self.pipe.pass_seconds(1000)
        archive = str(self.pipe.folder / "kept")
        source = FileSource(str(self.pipe.source))
        asked = CleanRequest(feed="feed", source=source, action="archive", archive=archive, grace=10.0)
        self._do(lambda: clean(self.pipe.env, asked, who="me"), death)
        self.away |= {file for files in self.published.values() for file in files}

    @precondition(lambda self: self.away)
    @rule(data=st.data(), death=_DEATHS)
    def needs_what_is_away(self, data: st.DataObject, death: Any) -> None:
        """A window whose files were archived is not read again, nor given back, before they are restored."""
        windows = self.published | self.excluded
        keys = sorted(key for key, files in windows.items() if files & self.away)
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))

        def again() -> object:
            if key in self.published:
                return self.pipe.run(key, clear_number=self.clears + 1)
            return undo(self.pipe.env, self._window(key), files="pending", who="me")

        with pytest.raises(CleanedError):
            again()
        self._bring_back(key, death)

    @invariant()
    def each_file_is_in_one_place(self) -> None:
        """A file is at the source, or in the archive where it was cleaned."""
        kept = self.pipe.folder / "kept"
        for file in range(1, self.files + 1):
            versions = len(list(kept.glob(f"{file}.txt*"))) if kept.exists() else 0
            there = (self.pipe.source / f"{file}.txt").exists()
            assert there == (file not in self.away)
            assert versions >= (file in self.away)

    @invariant()
    def readers_see_each_record_once(self) -> None:
        """The output holds the records of the files of published windows, each once."""
        shown = [record for files in self.published.values() for file in files for record in self._records(file)]
        assert self.pipe.values() == sorted(shown)

    def _records(self, file: int) -> list[str]:
        return [f"{file}{letter}{'+' * self.changes[file]}" for letter in "ab"]

    def _write(self, file: int) -> None:
        self.pipe.put({f"{file}.txt": "".join(f"{record}\n" for record in self._records(file)).encode()})

    def _undo(self, key: str, death: Any, fate: str) -> None:
        if fate == "pending":
            self._bring_back(key)
        self._do(lambda: undo(self.pipe.env, self._window(key), files=fate, who="me"), death)
        files = self.published.pop(key)
        if fate == "pending":
            self.waiting |= files
        else:
            self.excluded[key] = files

    def _bring_back(self, key: str, death: Any = None) -> None:
        self._do(lambda: restore_files(self.pipe.env, self._window(key)), death)
        self.away -= (self.published | self.excluded)[key]

    def _window(self, key: str) -> Window:
        return get_window(self.pipe.env.ledger, key, "feed")

    def _do(self, action: Callable[[], object], death: Any) -> None:
        """Do something, and once more where it dies."""
        if self._dies(action, death):
            self.pipe.pass_seconds(1000)
            action()

    def _dies(self, action: Callable[[], object], death: Any) -> bool:
        if death is None:
            action()
            return False
        (module, name), left = death
        step: Callable[..., object] = getattr(module, name)

        def die_later(*given: Any, **options: Any) -> object:
            nonlocal left
            if not left:
                raise _Died
            left -= 1
            return step(*given, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, die_later)
            try:
                action()
            except _Died:
                return True
        return False


Upkeep.TestCase.settings = examples(12, stateful_step_count=12, suppress_health_check=list(HealthCheck))
TestUpkeep = Upkeep.TestCase
