"""Parts read under changing formats, by commits that die or lose their files: what readers see is one reading."""

from __future__ import annotations

import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.generations import published_generation
from airflow_provider_blockread.options import Selection
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.examples import examples
from tests.pipeline.dying import Died, dying
from tests.pipeline.make import Pipe, ReadHere
from tests.pipeline.reading_by_hand import FORMATS, PIECES, records, shown_records

_STOPS = ["plan", "read", "publish_file", "remove_file", "finish_publication", ""]


class Upheaval(RuleBasedStateMachine):
    """One file; whatever is refused, dies or is lost on the way, there is a way to its end."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="blockread-")
        self.pipe = Pipe(folder=Path(self.folder.name), submitter=ReadHere(), block_size=8)
        self.keys = self.clears = 0

    @initialize(pieces=st.lists(st.sampled_from(PIECES), min_size=4, max_size=9), group=st.sampled_from([8, 2**20]))
    def land(self, pieces: list[str], group: int) -> None:
        """The file lands, and the first of its parts is published."""
        self.text, self.pipe.group_bytes = "".join(pieces), group
        self.pipe.put({"a.txt": self.text.encode()})
        for stop in ("", "plan", "plan"):
            self._plan(16, "lines", stop)

    def teardown(self) -> None:
        """Close the ledger and remove the folder."""
        self.pipe.close()
        self.folder.cleanup()

    @rule(most=st.integers(8, 24), name=st.sampled_from(list(FORMATS)))
    def plan(self, most: int, name: str) -> None:
        """A window takes what is next, if anything is."""
        self._plan(most, name, "plan")

    @rule(
        data=st.data(),
        name=st.sampled_from(list(FORMATS)),
        stop=st.sampled_from(_STOPS),
        after=st.integers(0, 1),
        clears=st.booleans(),
        loses=st.booleans(),
    )
    def work(self, data: st.DataObject, name: str, stop: str, after: int, *, clears: bool, loses: bool) -> None:
        """A run of a window goes as far as it may, and perhaps dies on the way, and loses all that it has staged."""
        self.clears += clears
        key = f"k{data.draw(st.integers(0, self.keys - 1))}"
        with suppress(BlockReadError):
            self._work(key, name, stop, after)
        for path in self.pipe.attempt_files("*.parquet") if loses else []:
            if path.parent.name == "data":
                path.unlink()
        with suppress(BlockReadError):
            self._work(key, name, "plan")

    @rule(data=st.data(), fate=st.sampled_from(["pending", "excluded"]))
    def give_up(self, data: st.DataObject, fate: str) -> None:
        """A window is given up, if it may be."""
        windows = self._windows()
        if windows:
            with suppress(BlockReadError):
                self._give_up(data.draw(st.sampled_from(windows)), fate)

    @rule(name=st.sampled_from(list(FORMATS)))
    def finish(self, name: str) -> None:
        """All windows are cleared and run again under one format; where that is refused, they are given up first."""
        self.pipe.selection = Selection(limits=Limits(max_bytes=16))
        for window in reversed(self._windows()):
            if window.state == "abandoned":
                self._give_up(window, "pending")
        try:
            self._finish(name)
        except BlockReadError:
            for window in reversed(self._windows()):
                self._give_up(window, "pending")
            self._finish(name)

    @invariant()
    def readers_see_one_reading(self) -> None:
        """The output holds the records of the published parts, as these were read one after another."""
        expected = shown_records(self.pipe, self.text)
        assert expected is None or self.pipe.values() == expected

    def _windows(self) -> list[Window]:
        found = list_windows(self.pipe.env.ledger, "feed", limit=1000)
        return [summary.window for summary in reversed(found) if summary.window.state in {"open", "abandoned"}]

    def _plan(self, most: int, name: str, stop: str) -> None:
        self.pipe.selection = Selection(limits=Limits(max_bytes=most))
        self._work(f"k{self.keys}", name, stop)
        self.keys += 1

    def _work(self, key: str, name: str, stop: str, after: int = 0) -> None:
        self.pipe.record_format = FORMATS[name]
        ref = self.pipe.plan(key, clear_number=self.clears)
        if ref.status == "read" and stop != "plan":
            self.pipe.read(ref, clear_number=self.clears)
        if stop in {"plan", "read"}:
            return
        if not stop:
            self.pipe.commit(ref)
            return
        with suppress(Died), dying(stop, after):
            self.pipe.commit(ref)
        self.pipe.pass_seconds(1000)

    def _finish(self, name: str) -> None:
        for window in self._windows():
            # What is half published is completed as it was begun, before a format counts that has changed since.
            for _ in range(0 if window.state != "open" else 2 if self.pipe.state(window.key) == "publishing" else 1):
                self.clears += 1
                self._work(window.key, name, "")
        while True:
            key, self.keys = f"k{self.keys}", self.keys + 1
            self._work(key, name, "")
            if self.pipe.plan(key).status == "empty":
                break
        assert self.pipe.values() == sorted(value for _, _, value in records(self.text, 0, name))

    def _give_up(self, window: Window, fate: str) -> None:
        seen = window.state == "abandoned" or self.pipe.state(window.key) in {"published", "publishing"}
        if seen or published_generation(self.pipe.env.ledger, window.id) is not None:
            undo(self.pipe.env, window, files=fate, who="me")
        else:
            abandon(self.pipe.env, window, who="me")


Upheaval.TestCase.settings = examples(8, stateful_step_count=15, suppress_health_check=list(HealthCheck))
TestUpheaval = pytest.mark.slow(Upheaval.TestCase)
