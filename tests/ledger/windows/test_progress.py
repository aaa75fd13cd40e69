"""How far windows are, in the words that people see: by heartbeats, not only by what was recorded last."""

from __future__ import annotations

import tempfile
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from airflow_provider_blockread.errors import BlockReadError, ConflictError
from airflow_provider_blockread.ledger.model import Claim, Publication, Window
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.owners import STALE_S, process_owner
from airflow_provider_blockread.ledger.store import Ledger, utc_now
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_abandoning
from airflow_provider_blockread.ledger.windows.generations import list_groups, start_generation
from airflow_provider_blockread.ledger.windows.groups import claim_group, complete_group, fail_group, heartbeat
from airflow_provider_blockread.ledger.windows.journal import confirm_entries, journal
from airflow_provider_blockread.ledger.windows.planning import claim_window
from airflow_provider_blockread.ledger.windows.progress import (
    age,
    group_progress,
    window_progress,
    windows_progress,
)
from airflow_provider_blockread.ledger.windows.publishing import (
    check_publication,
    claim_publication,
    finish_publication,
    let_go,
    mark_failed,
    mark_proven,
)
from airflow_provider_blockread.ledger.windows.queries import list_files
from tests.examples import examples
from tests.ledger.clock import Clock
from tests.ledger.make import (
    FEED,
    SUMS,
    claim,
    close_empty_window,
    committer,
    open_window,
    outcome,
    publish,
    read_all,
    ref,
    steps,
)
from tests.ledgers import open_ledger

LONG_S = 14 * 60.0


def shown(ledger: Ledger, window: Window) -> str:
    """Return how a list shows the window's newest work."""
    return str(window_progress(ledger, window.id))


def test_a_read_is_reading_while_its_heart_beats(ledger: Ledger, clock: Clock) -> None:
    """Before and after it nobody is at work; without a heartbeat for the claim's own stale time it is stalled."""
    window = open_window(ledger)
    assert shown(ledger, window) == "waiting"
    first = claim_group(ledger, ref(window), owner="reader", clear_number=0, stale_after_s=3600)
    assert first is not None
    clock.pass_seconds(3000)
    assert shown(ledger, window) == "reading"
    heartbeat(ledger, first)
    clock.pass_seconds(3600)
    assert shown(ledger, window) == "reading"
    clock.pass_seconds(1)
    assert shown(ledger, window) == "stalled (last sign of life 60 min ago)"

    complete_group(ledger, first, outcome(first.ref))
    clock.pass_seconds(LONG_S)
    assert shown(ledger, window) == "waiting"


def test_a_failed_group_fails_its_window_until_it_is_read_again(ledger: Ledger, clock: Clock) -> None:
    """While another group is read the window is reading; what is dead hides no failure."""
    window = open_window(ledger)
    fail_group(ledger, claim(ledger, ref(window)), "broken")
    assert shown(ledger, window) == "failed"
    claim(ledger, ref(window, 1))
    assert shown(ledger, window) == "reading"
    clock.pass_seconds(LONG_S)
    assert shown(ledger, window) == "failed"
    claim(ledger, ref(window))
    assert shown(ledger, window) == "reading"


def test_groups_are_told_apart(ledger: Ledger, clock: Clock) -> None:
    """One that waits, one that is read, one whose reader is gone, one that failed and one that is done."""
    window = open_window(ledger, groups=5)
    claim(ledger, ref(window, 2))
    clock.pass_seconds(LONG_S)
    claim(ledger, ref(window, 1))
    fail_group(ledger, claim(ledger, ref(window, 3)), "broken")
    complete_group(ledger, claim(ledger, ref(window, 4)), outcome(ref(window, 4)))

    texts = [str(group_progress(group, clock())) for group in list_groups(ledger, window.id, 1)]

    assert texts == ["waiting", "reading", "stalled (last sign of life 14 min ago)", "failed", "done"]
    with pytest.raises(ConflictError, match=r"2 \(stalled \(last sign of life 14 min ago\)\), 3 \(failed\) are not"):
        committer(ledger, window)


def test_a_process_that_has_ended_is_known_to_be_gone(ledger: Ledger) -> None:
    """On this host nobody waits for its heartbeat to grow old."""
    window = open_window(ledger)
    place = process_owner("cli/me").rpartition("/")[2].partition("-")[0]
    for group, owner in enumerate((process_owner("cli/me"), f"cli/me@host/1/{place}-1")):
        claim(ledger, ref(window, group), owner=owner)

    assert [str(group_progress(group, ledger.now())) for group in list_groups(ledger, window.id, 1)] == [
        "reading",
        "stalled (last sign of life 0 s ago)",
    ]


def test_publishing(ledger: Ledger, clock: Clock) -> None:
    """Proven, let go, published, failed half-way, and dead at each of these."""
    window = open_window(ledger)
    read_all(ledger, window)
    assert shown(ledger, window) == "waiting"
    held = committer(ledger, window)
    assert shown(ledger, window) == "proving"
    mark_failed(ledger, held, "no proof")
    assert shown(ledger, window) == "failed"
    held = committer(ledger, window)
    mark_proven(ledger, held, SUMS)
    assert shown(ledger, window) == "publishing"
    let_go(ledger, held)
    assert shown(ledger, window) == "waiting"
    held = committer(ledger, window)
    journal(ledger, held, steps())
    mark_failed(ledger, held, "no room")
    assert shown(ledger, window) == "failed"
    held = committer(ledger, window)
    clock.pass_seconds(STALE_S)
    assert shown(ledger, window) == "publishing"
    clock.pass_seconds(LONG_S - STALE_S)
    assert shown(ledger, window) == "stalled (last sign of life 14 min ago)"
    confirm_entries(ledger, held, [0, 1, 2])
    finish_publication(ledger, held)
    assert shown(ledger, window) == "published"


def test_planning_and_what_is_over(ledger: Ledger, clock: Clock) -> None:
    """A planner that died has stalled; what is over stays what it is however long ago that was."""
    given_up = open_window(ledger, "k3")
    begin_abandoning(ledger, given_up.id, who="me")
    planned = claim_window(ledger, FEED, "k1", owner="planner").window
    empty = close_empty_window(ledger, "other", "k2", owner="me")
    assert windows_progress(ledger, [planned])[planned].state == "planning"
    clock.pass_seconds(LONG_S)

    found = windows_progress(ledger, [planned, empty.id, given_up.id])

    assert str(found[planned]) == "stalled (last sign of life 14 min ago)"
    assert (str(found[empty.id]), str(found[given_up.id])) == ("empty", "abandoned")
    assert found[planned].to_json() == {"state": "stalled", "last_sign_at": "2026-01-01T00:00:00+00:00"}


def test_a_rebuild_that_was_killed(ledger: Ledger, clock: Clock) -> None:
    """What is published is shown, and how far the rebuild is beside it; so it is for a verification."""
    window = open_window(ledger)
    publish(ledger, window)
    start_generation(ledger, window.id, options={}, mode="verify", clear_number=1)
    claim(ledger, ref(window, 0, 2), clear_number=1)
    clock.pass_seconds(LONG_S)
    [summary] = list_windows(ledger)
    assert (summary.shown.number, str(summary.progress)) == (1, "stalled (last sign of life 14 min ago)")

    read_all(ledger, window, 2, clear_number=2)
    committer(ledger, window, 2)
    assert shown(ledger, window) == "proving"


def test_files_tell_how_far_the_window_is_in_which_they_wait(ledger: Ledger, clock: Clock) -> None:
    """Others do not wait in any."""
    publish(ledger, open_window(ledger, "k1", ["a"]))
    claim(ledger, ref(open_window(ledger, "k2", ["b"])))
    clock.pass_seconds(LONG_S)

    found = [(row.state, row.progress and row.progress.state) for row in list_files(ledger, FEED)]

    assert found == [("done", None), ("planned", "stalled")]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s ago"),
        (120, "120 s ago"),
        (121, "2 min ago"),
        (7201, "2 h ago"),
        (200_000, "2 days ago"),
        (-300, "5 min ahead of this clock"),
    ],
)
def test_ages_have_the_unit_that_fits(seconds: float, text: str) -> None:
    """And a heartbeat that never was, never."""
    now = Clock()()
    assert age(now - timedelta(seconds=seconds), now) == text
    assert age(None, now) == "never"


@examples(40)
@given(acts=st.lists(st.tuples(st.sampled_from("crfdhpbmlx"), st.integers(0, 1), st.sampled_from([0, 50, 200]))))
def test_the_view_says_the_same(acts: list[tuple[str, int, int]]) -> None:
    """Whatever owners did, by the database's own clock: word and last sign of life."""
    with tempfile.TemporaryDirectory() as folder:
        agree(f"sqlite:///{folder}/ledger.db", acts)


@pytest.mark.postgres
def test_the_view_says_the_same_in_postgresql(url: str) -> None:
    """After some lives that between them come to every word."""
    every = ["c0 50", "c0 200", "c0 0 f0 0", "c0 0 c1 0 d0 0 d1 0 p0 50", "c0 0 c1 0 d0 0 d1 0 p0 0 b0 0 m0 0", "x0 0"]
    for life in every:
        words = life.split()
        agree(url, [(words[n][0], int(words[n][1]), int(words[n + 1])) for n in range(0, len(words) - 1, 2)])


def agree(url: str, acts: list[tuple[str, int, int]]) -> None:
    """Do this in a ledger, each thing so many seconds before the next, and compare the view with the function."""
    left = sum(seconds for _, _, seconds in acts)

    def now() -> datetime:
        return utc_now() - timedelta(seconds=left)

    ledger = open_ledger(url, now=now)
    life = Life(ledger, open_window(ledger, f"k{utc_now()}"))
    for act, group, seconds in acts:
        life.do(act, group)
        left -= seconds
    with ledger.reading() as connection:
        query = "SELECT window_id, progress, last_sign_at FROM window_audit ORDER BY generation"
        rows = connection.execute(text(query).columns()).all()
    word, heard = {row[0]: row[1:] for row in rows}[life.window.id]
    found = window_progress(ledger, life.window.id)
    assert (word, at(heard)) == (found.state, found.last_sign_at)
    ledger.close()


def at(value: Any) -> datetime:
    """Return a time of a view: SQLite gives text."""
    return datetime.fromisoformat(f"{value}+00:00") if isinstance(value, str) else value


class Life:
    """What owners do to a window, each thing where it is allowed."""

    def __init__(self, ledger: Ledger, window: Window) -> None:
        """Begin with what is planned."""
        self.ledger, self.window = ledger, window
        self.generation = 1
        self.claims: dict[int, Claim] = {}
        self.held: Publication | None = None

    def do(self, act: str, group: int) -> None:
        """Do it, if it is allowed now."""
        try:
            self._do(act, group)
        except BlockReadError:
            return

    def _do(self, act: str, group: int) -> None:
        ledger, place = self.ledger, ref(self.window, group, self.generation)
        if act == "c":
            found = claim_group(ledger, place, owner="reader", clear_number=0, stale_after_s=100)
            self.claims |= {group: found} if found else {}
        elif act == "r":
            self.generation = start_generation(ledger, self.window.id, options={}, mode="verify", clear_number=0).number
        elif act == "p":
            self.held = claim_publication(ledger, self.window.id, self.generation, owner="me", stale_after_s=1)
        elif act == "x":
            begin_abandoning(ledger, self.window.id, who="me")
        elif group in self.claims and act in "fdh":
            held = self.claims[group]
            {
                "f": lambda: fail_group(ledger, held, "broken"),
                "d": lambda: complete_group(ledger, held, outcome(held.ref, held.epoch)),
                "h": lambda: heartbeat(ledger, held),
            }[act]()
        elif self.held is not None and act in "bml":
            mine = self.held
            {
                "b": lambda: (check_publication(ledger, mine), mark_proven(ledger, mine, SUMS)),
                "m": lambda: mark_failed(ledger, mine, "no room"),
                "l": lambda: let_go(ledger, mine),
            }[act]()
