"""An owner whose process is known to be gone needs no stale heartbeat to be taken over from."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_blockread.errors import FencedError, PlanConflictError, PlannerBusyError
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.owners import is_live, process_owner
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_undoing
from airflow_provider_blockread.ledger.windows.journal import journal
from airflow_provider_blockread.ledger.windows.planning import Planner, claim_window, release_stale_plans
from airflow_provider_blockread.ledger.windows.publishing import check_publication, mark_proven
from tests.ledger.make import (
    FEED,
    STALE_S,
    SUMS,
    claim,
    committer,
    freeze_window,
    open_window,
    pending,
    plan,
    read_all,
    ref,
    steps,
    version,
)

_PROGRAM = """
import sys
from airflow_provider_blockread.ledger.owners import process_owner
print(process_owner("cli/a"), flush=True)
sys.stdin.read()
"""
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


@contextmanager
def _process() -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Give an owner that lives, and its process."""
    command = [sys.executable, "-c", _PROGRAM]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process
        finally:
            process.kill()


def _live(owner: str, *, age_s: float = 0.0) -> bool:
    return is_live(owner, _NOW - timedelta(seconds=age_s), _NOW, STALE_S)


@pytest.fixture
def dead() -> str:
    """An owner that was a process of this place; its number is that of a living one now."""
    name, _, began = process_owner("cli/a").rpartition("-")
    return f"{name}-{int(began) - 1}"


def test_a_process_lives_until_it_ends() -> None:
    """One that has ended but is not waited for yet has ended, too; a living one needs its heartbeat all the same."""
    with _process() as (owner, process):
        assert _live(owner)
        assert not _live(owner, age_s=STALE_S + 1)
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert not _live(owner)
    assert not _live(owner)


def test_only_what_is_known_dead_is_dead(dead: str) -> None:
    """A number that was given out again is another process; of other places and other owners nothing is known."""
    place = dead.rpartition("/")[2].partition("-")[0]

    assert not _live(dead)
    assert _live(process_owner("cli/a"))
    assert _live(dead.replace(place, "0" * len(place)))
    assert _live("a_dag/scheduled__2026-01-01/read/-1")
    assert not is_live(process_owner("cli/a"), None, _NOW)


@pytest.mark.parametrize(("ahead", "live"), [(59, True), (61, False)])
def test_a_clock_that_was_wrong_holds_nothing_for_long(ahead: int, *, live: bool) -> None:
    """Clocks of hosts may differ; but after one was set back by a day, nobody waits a day for an owner that is dead."""
    assert is_live("another process", _NOW + timedelta(minutes=ahead), _NOW) == live


def test_what_a_dead_process_holds_is_free(ledger: Ledger, dead: str) -> None:
    """A group and a publication are taken over at once; its own epoch holds nothing any more."""
    window = open_window(ledger)
    lost = claim(ledger, ref(window), owner=dead)

    assert claim(ledger, ref(window)).epoch == lost.epoch + 1
    read_all(ledger, window)
    held = committer(ledger, window, owner=dead)
    assert committer(ledger, window).epoch == held.epoch + 1
    with pytest.raises(FencedError):
        check_publication(ledger, held)


def test_what_a_dead_publisher_left_can_be_undone(ledger: Ledger, dead: str) -> None:
    """A living one would have to end first."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window, owner=dead)
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, steps())

    assert begin_undoing(ledger, window.id, files="excluded", who="me").files == "excluded"


def test_what_a_dead_planner_holds_is_free(ledger: Ledger, dead: str) -> None:
    """Its files can be planned at once, under its key or another; those of a living planner stay its own."""
    record_files(ledger, FEED, [version("a"), version("b")])
    first, second = pending(ledger)
    claim_window(ledger, FEED, "dead", owner=dead).take([second])
    alive = claim_window(ledger, FEED, "alive", owner=process_owner("cli/a"))
    alive.take([first])

    assert release_stale_plans(ledger, FEED) == 1
    assert pending(ledger) == [second]
    with pytest.raises(PlanConflictError, match="is planning it"):
        freeze_window(ledger, plan("alive", files=1), [second])
    with pytest.raises(PlannerBusyError, match="is planning window 'alive'; plan again when it is done"):
        freeze_window(ledger, plan("dead", files=1), [second])
    alive.empty()
    assert freeze_window(ledger, plan("dead", files=1), [second]).state == "open"


def test_who_dies_while_it_gives_files_back_is_not_waited_for(
    ledger: Ledger, dead: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a dead planner held is its successor's to give back, and its next try continues with that at once."""
    record_files(ledger, FEED, [version("a"), version("b")])
    found = pending(ledger)
    claim_window(ledger, FEED, "dead", owner=dead).take(found)

    def die(_planner: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Planner, "empty", die)
        with pytest.raises(KeyboardInterrupt):
            release_stale_plans(ledger, FEED, owner="me")

    assert release_stale_plans(ledger, FEED, owner="other") == 0
    assert release_stale_plans(ledger, FEED, owner="me") == 1
    assert pending(ledger) == found
