"""Views show the truth, whatever was done in any order: as what is there, and a simple account of who holds what."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from sqlalchemy import text

from airflow_provider_blockread.errors import ConflictError, PrunedError
from airflow_provider_blockread.exchange.manifest import read_manifest
from airflow_provider_blockread.ledger.model import NewWindow, Window
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file
from airflow_provider_blockread.ledger.windows.planning import Planner
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Selection
from airflow_provider_blockread.options.plan import Limits
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.examples import examples
from tests.pipeline.make import Pipe, ReadHere

_DAY = 86_400.0


class _Died(BaseException):
    """A process that is gone."""


@dataclass
class Held:
    """What a window holds: bytes of files, by their names; `state` is planned, published or excluded."""

    items: dict[str, int]
    state: str = "planned"


class Views(RuleBasedStateMachine):
    """Files of numbered records, some of them bad; those that are larger than a window's limit are read in parts."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(prefix="blockread-")
        self.pipe = Pipe(folder=Path(self.folder.name), submitter=ReadHere(), block_size=8, group_bytes=16)
        self.pipe.with_policies(on_bad_record="quarantine")
        self.sizes: dict[str, int] = {}
        self.listed: set[str] = set()
        self.gone: set[str] = set()  # excluded by hand
        self.missing: set[str] = set()
        self.pruned: set[str] = set()  # also where the window was read again since
        self.windows: dict[str, Held] = {}
        self.dead: dict[str, int] | None = None  # what a planner holds that died
        self.keys = self.clears = 0

    def teardown(self) -> None:
        """Close the ledger and remove the folder."""
        self.pipe.close()
        self.folder.cleanup()

    @rule(records=st.lists(st.sampled_from([b"%d-ok\n", b"%d-\xff\n"]), min_size=1, max_size=6))
    def land(self, records: list[bytes]) -> None:
        """A file lands."""
        number = len(self.sizes) + 1
        data = b"".join(record % number for record in records)
        self.pipe.put({f"{number}.txt": data})
        self.sizes[f"{number}.txt"] = len(data)

    @precondition(lambda self: self.sizes)
    @rule(most=st.integers(8, 60), dies=st.booleans())
    def plan(self, most: int, *, dies: bool) -> None:
        """A window is planned, or its planner dies when it is about to open it."""
        self.keys += 1
        self.pipe.selection = Selection(limits=Limits(max_bytes=most))
        self.pipe.pass_seconds(1000)
        self.listed, self.missing, self.dead = set(self.sizes), set(), None

        def die(planner: Planner, plan: NewWindow) -> None:
            planner._ended = True  # a killed process gives nothing back
            found = self._items(plan.manifest_uri, plan.manifest_hash, {part.file for part in plan.parts})
            self.dead = found
            raise _Died

        with pytest.MonkeyPatch.context() as patch:
            if dies:
                patch.setattr(Planner, "open", die)
            try:
                ref = self.pipe.plan(f"k{self.keys}")
            except _Died:
                return
        if ref.status == "read":
            window = self._window(f"k{self.keys}")
            self.windows[window.key] = Held(self._items(window.manifest_uri, window.manifest_hash))

    @precondition(lambda self: self._keys("planned", "published"))
    @rule(data=st.data())
    def run(self, data: st.DataObject) -> None:
        """A window is published, or read again by a clear."""
        key = data.draw(st.sampled_from(self._keys("planned", "published")))
        self.clears += 1
        if self._try(lambda: self.pipe.run(key, clear_number=self.clears)):
            self.windows[key].state = "published"

    @precondition(lambda self: self._keys("planned"))
    @rule(data=st.data(), reason=st.sampled_from(["rotten", "missing"]))
    def exclude(self, data: st.DataObject, reason: str) -> None:
        """A file is left out of a window, for good or until a listing shows it again."""
        key = data.draw(st.sampled_from(self._keys("planned")))
        window, held = self._window(key), self.windows[key]
        name = data.draw(st.sampled_from(sorted(held.items) or ["none"]))
        if name == "none":
            return
        ledger, groups, path = self.pipe.env.ledger, range(window.groups), self.pipe.uri(name)
        if self._try(lambda: exclude_file(ledger, window.id, path, reason=reason, who="me", plan=InPlan(groups))):
            del held.items[name]
            (self.missing if reason == "missing" else self.gone).add(name)

    @precondition(lambda self: self.windows)
    @rule(data=st.data(), fate=st.sampled_from(["pending", "excluded"]))
    def give_up(self, data: st.DataObject, fate: str) -> None:
        """A window is abandoned, or its output is taken away; or what was taken away before is given back."""
        key = data.draw(st.sampled_from(sorted(self.windows)))
        window, held = self._window(key), self.windows[key]
        if held.state == "planned":
            if self._try(lambda: abandon(self.pipe.env, window, who="me")):
                del self.windows[key]
        elif self._try(lambda: undo(self.pipe.env, window, files=fate, who="me")):
            held.state = "excluded"
            if fate == "pending":
                del self.windows[key]

    @precondition(lambda self: self._keys("published", "excluded"))
    @rule(keep=st.integers(0, 2), keep_manifests=st.booleans())
    def prune(self, keep: int, *, keep_manifests: bool) -> None:
        """Old windows lose their detail."""
        self.pipe.pass_seconds(_DAY)
        prune(self.pipe.env, PruneRequest(older_than=10, keep=keep, keep_manifests=keep_manifests))
        gone = [held.items for key, held in self.windows.items() if self._window(key).pruned_at]
        self.pruned |= {name for items in gone for name in items} | self.gone  # a window keeps what is left out of it

    @invariant()
    def each_file_has_the_records_that_are_there(self) -> None:
        """What `file_lifecycle` shows of a file is published, or in quarantine; what waits is what nobody holds."""
        good, bad = self._records()
        found = self._view("SELECT * FROM file_lifecycle")
        for row in found:
            name = row.path.rpartition("/")[2]
            sums = ((row.records or 0) - (row.bad_records or 0), row.bad_records or 0)
            assert sums == (good[name], bad[name]), (name, row)
        pending = {row.path.rpartition("/")[2] for row in found if row.state == "pending"}
        assert pending == set(self._pending())
        assert {row.path.rpartition("/")[2] for row in found} >= self.listed - self.pruned

    @invariant()
    def each_window_has_the_files_that_are_there(self) -> None:
        """What `window_audit` shows of the published generation is in the output; no other one is said to be empty."""
        names = [*self.pipe.published(), *(path.name for path in self._quarantine())]
        rows = 0
        for row in self._view("SELECT * FROM window_audit"):
            if row.generation_state == "published":
                assert row.output_files == sum(row.window_id in name for name in names)
                assert row.groups_done == row.groups
                rows += row.output_rows
            elif row.published_at is not None and row.output_rows:
                assert row.output_files != 0
        assert rows == len(self.pipe.rows())

    @invariant()
    def the_backlog_is_what_waits(self) -> None:
        """It counts each file that nobody holds, and each that will be read, with the bytes."""
        pending, held = self._pending(), [window.items for window in self.windows.values() if window.state == "planned"]
        held += [] if self.dead is None else [self.dead]
        sizes = [size for items in held for size in items.values()]
        for row in self._view("SELECT * FROM backlog"):
            assert (row.pending_files, row.pending_bytes) == (len(pending), sum(pending.values()))
            assert (row.open_windows, row.open_files, row.open_bytes) == (len(held), len(sizes), sum(sizes))
            assert row.missing_files == len(self.missing)

    def _pending(self) -> dict[str, int]:
        """Return the bytes of files that nobody has taken."""
        left = {name: self.sizes[name] for name in self.listed - self.gone - self.missing - set(self.dead or ())}
        for held in self.windows.values():
            for name, size in held.items.items():
                if name in left:
                    left[name] -= self.sizes[name] if held.state == "excluded" else size
        return {name: size for name, size in left.items() if size > 0}

    def _records(self) -> tuple[Counter[str], Counter[str]]:
        """Return how many good and bad records of each file readers find."""
        bad = [str(path) for path in self._quarantine()]
        lines = ds.dataset(bad, format="parquet").to_table()["bytes"].to_pylist() if bad else []
        good = Counter(f"{value.partition('-')[0]}.txt" for value in self.pipe.values())
        return good, Counter(f"{line.partition(b'-')[0].decode()}.txt" for line in lines)

    def _quarantine(self) -> list[Path]:
        return [path for path in (self.pipe.work / "quarantine").rglob("*.parquet") if path.is_file()]

    def _items(self, uri: str, digest: str, without: AbstractSet[int] = frozenset()) -> dict[str, int]:
        found: Counter[str] = Counter()
        for block in read_manifest(self.pipe.env.stores, uri, digest):
            if block.file not in without:
                found[block.version.path.rpartition("/")[2]] += block.end - block.start
        return dict(found)

    def _keys(self, *states: str) -> list[str]:
        return sorted(key for key, held in self.windows.items() if held.state in states)

    def _window(self, key: str) -> Window:
        return get_window(self.pipe.env.ledger, key, "feed")

    def _view(self, query: str) -> list[Any]:
        with self.pipe.env.ledger.reading() as connection:
            return list(connection.execute(text(query)))

    @staticmethod
    def _try(action: Callable[[], object]) -> bool:
        try:
            action()
        except (ConflictError, PrunedError):  # parts out of turn, or what is gone for good
            return False
        return True


Views.TestCase.settings = examples(6, stateful_step_count=16, suppress_health_check=list(HealthCheck))
TestViews = Views.TestCase
