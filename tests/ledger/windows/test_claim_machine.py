"""Whatever owners do to a window, in any order, the laws of claims and publishing hold."""

from __future__ import annotations

import tempfile

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, precondition, rule

from airflow_provider_blockread.errors import ConflictError, FencedError
from airflow_provider_blockread.ledger.model import Claim, Publication
from airflow_provider_blockread.ledger.windows.generations import (
    latest_generation,
    list_groups,
    published_generation,
    start_generation,
)
from airflow_provider_blockread.ledger.windows.groups import claim_group, complete_group, fail_group, heartbeat
from airflow_provider_blockread.ledger.windows.journal import confirm_entries, journal
from airflow_provider_blockread.ledger.windows.publishing import (
    claim_publication,
    finish_publication,
    mark_failed,
    mark_proven,
)
from tests.examples import examples
from tests.ledger.clock import Clock
from tests.ledger.make import STALE_S, SUMS, open_window, outcome, ref, steps
from tests.ledgers import open_ledger

OWNERS = st.sampled_from(["ann", "bob"])


class OwnersOfAWindow(RuleBasedStateMachine):
    """Readers and committers that retry, die, wake up and are cleared, over two groups."""

    claims: Bundle[Claim] = Bundle("claims")
    publications: Bundle[Publication] = Bundle("publications")

    def __init__(self) -> None:
        """Open a window."""
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.ledger = open_ledger(f"sqlite:///{self.folder.name}/ledger.db", now=self.clock)
        self.window = open_window(self.ledger)
        self.holders: dict[tuple[int, int], Claim] = {}
        self.shown = 0

    def teardown(self) -> None:
        """Leave no files."""
        self.ledger.close()
        self.folder.cleanup()

    @rule(seconds=st.sampled_from([1, STALE_S + 1]))
    def time_passes(self, seconds: float) -> None:
        """Heartbeats grow old."""
        self.clock.pass_seconds(seconds)

    @rule(target=claims, group=st.integers(0, 1), owner=OWNERS, clear_number=st.integers(0, 2))
    def claim(self, group: int, owner: str, clear_number: int) -> object:
        """Somebody asks for a group of the newest generation."""
        number = latest_generation(self.ledger, self.window.id).number
        place = ref(self.window, group, number)
        try:
            held = claim_group(self.ledger, place, owner=owner, clear_number=clear_number, stale_after_s=STALE_S)
        except ConflictError:
            return multiple()
        if held is None:
            assert list_groups(self.ledger, self.window.id, number)[group].state == "done"
            return multiple()
        before = self.holders.get((number, group))
        assert before is None or held.epoch > before.epoch
        self.holders[number, group] = held
        return held

    @rule(held=claims, how=st.sampled_from(["heartbeat", "complete", "fail"]))
    def use_claim(self, held: Claim, how: str) -> None:
        """Only the newest claim of a group of the newest generation can change it."""
        newest = self.holders[held.ref.generation, held.ref.group] == held
        try:
            if how == "heartbeat":
                heartbeat(self.ledger, held)
            elif how == "complete":
                complete_group(self.ledger, held, outcome(held.ref, held.epoch))
            else:
                fail_group(self.ledger, held, "boom")
        except FencedError:
            return
        assert newest
        assert held.ref.generation == latest_generation(self.ledger, self.window.id).number

    @rule(target=publications, owner=OWNERS)
    def claim_publishing(self, owner: str) -> object:
        """Publishing is granted only when every group is done."""
        number = latest_generation(self.ledger, self.window.id).number
        try:
            held = claim_publication(self.ledger, self.window.id, number, owner=owner, stale_after_s=STALE_S)
        except ConflictError:
            return multiple()
        assert {group.state for group in list_groups(self.ledger, self.window.id, number)} == {"done"}
        return held

    @rule(held=publications, how=st.sampled_from(["prove", "fail", "journal", "confirm", "finish"]))
    def use_publication(self, held: Publication, how: str) -> None:
        """Only the newest publication can continue, and only in order; the end may be repeated, and changes nothing."""
        before, shown = (find(self.ledger, self.window.id) for find in (latest_generation, published_generation))
        try:
            if how == "prove":
                mark_proven(self.ledger, held, SUMS)
            elif how == "fail":
                mark_failed(self.ledger, held, "gap")
            elif how == "journal":
                journal(self.ledger, held, steps(held.generation))
            elif how == "confirm":
                confirm_entries(self.ledger, held, [0, 1, 2])
            else:
                finish_publication(self.ledger, held)
        except ConflictError:
            return
        if how == "finish" and shown and (shown.number, shown.publish_epoch) == (held.generation, held.epoch):
            assert published_generation(self.ledger, self.window.id) == shown
            assert latest_generation(self.ledger, self.window.id) == before
        else:
            assert (before.number, before.publish_epoch) == (held.generation, held.epoch)

    @rule(owner=OWNERS)
    def read_to_the_end(self, owner: str) -> None:
        """Somebody reads whatever nobody else is reading."""
        number = latest_generation(self.ledger, self.window.id).number
        for group in range(self.window.groups):
            place = ref(self.window, group, number)
            try:
                held = claim_group(self.ledger, place, owner=owner, clear_number=2, stale_after_s=STALE_S)
            except ConflictError:
                continue
            if held is not None:
                complete_group(self.ledger, held, outcome(place, held.epoch))
                self.holders[number, group] = held

    @rule(target=publications, owner=OWNERS)
    def publish_to_the_end(self, owner: str) -> object:
        """Somebody takes every step that is left."""
        held = self.claim_publishing(owner)
        if not isinstance(held, Publication):
            return multiple()
        for how in ("prove", "journal", "confirm", "finish"):
            self.use_publication(held, how)
        return held

    @precondition(lambda self: latest_generation(self.ledger, self.window.id).number < 4)
    @rule(mode=st.sampled_from(["write", "verify"]), clear_number=st.integers(0, 2))
    def rebuild(self, mode: str, clear_number: int) -> None:
        """The run is cleared."""
        start_generation(self.ledger, self.window.id, options={}, mode=mode, clear_number=clear_number)

    @invariant()
    def what_is_shown_is_complete(self) -> None:
        """A published generation has all its groups done, and gives way only to a later one."""
        shown = published_generation(self.ledger, self.window.id)
        if shown is None:
            assert self.shown == 0
            return
        assert shown.number >= self.shown
        self.shown = shown.number
        assert shown.mode == "write"
        assert {group.state for group in list_groups(self.ledger, self.window.id, shown.number)} == {"done"}


OwnersOfAWindow.TestCase.settings = examples(20, stateful_step_count=30)
TestOwnersOfAWindow = OwnersOfAWindow.TestCase
