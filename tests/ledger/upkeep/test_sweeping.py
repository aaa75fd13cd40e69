"""Which windows may have leftovers in the work area, in the ledger alone, on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from airflow_provider_blockread.errors import PlanConflictError
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.sweeping import (
    attempts_of,
    claim_unopened,
    unopened_windows,
    unswept_windows,
)
from airflow_provider_blockread.ledger.windows.generations import list_generations, start_generation
from airflow_provider_blockread.ledger.windows.planning import claim_window
from tests.ledger.make import FEED, claim, open_window, publish, ref


def _ids(ledger: Ledger, feed: str | None = FEED) -> list[str]:
    return [window.id for window in unopened_windows(ledger, feed)]


def test_a_plan_that_came_to_nothing_is_cleared_once(ledger: Ledger) -> None:
    """An empty window says where its planner was about to write; not while a person plans it, nor when it is gone."""
    with claim_window(ledger, FEED, "k", owner="planner") as planner:
        planner.announce("file:///area/k/manifest.parquet")
        assert _ids(ledger, None) == []
    (left,) = unopened_windows(ledger, FEED)
    assert (left.id, _ids(ledger, "other")) == (planner.window, [])
    with claim_window(ledger, FEED, "k", owner="planner"):
        assert claim_unopened(ledger, left, who="prune") is None
    clearing = claim_unopened(ledger, left, who="prune")
    assert clearing is not None
    with clearing:  # finds that the store is down
        assert _ids(ledger) == []
        with pytest.raises(PlanConflictError, match=r"prune/\d+.* is planning it"):
            claim_window(ledger, FEED, "k", owner="planner")
    assert _ids(ledger) == [left.id]
    clearing = claim_unopened(ledger, left, who="prune")
    assert clearing is not None
    with clearing:
        clearing.announce("")

    assert _ids(ledger) == []


def test_attempts_are_asked_for_together(ledger: Ledger) -> None:
    """Two statements for any number of windows say which attempts count for each: those of complete generations."""
    found = [open_window(ledger, key, [key]) for key in "xyz"]
    for window in found:
        publish(ledger, window)
    rebuilt = start_generation(ledger, found[1].id, options={}, mode="write", clear_number=1)
    claim(ledger, ref(found[1], generation=rebuilt.number), clear_number=1)
    assert {window.id for window in unswept_windows(ledger, FEED)} == {found[0].id, found[2].id}
    statements: list[str] = []
    event.listen(ledger._live_engine(), "before_cursor_execute", lambda *sent: statements.append(sent[2]))

    answers = attempts_of(ledger, [window.id for window in found])

    assert len([text for text in statements if text.startswith("SELECT")]) == 2
    assert [len(answer.generations) for answer in answers] == [1, 2, 1]
    assert all(sorted(a.results) == [f"file:///area/1/{n}/1.json" for n in (0, 1)] for a in answers)
    assert answers[1].generations == list_generations(ledger, found[1].id)
