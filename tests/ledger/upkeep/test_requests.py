"""Commands over many windows: the same one again continues, and never two at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.requests import (
    find_request,
    finish_request,
    open_request,
    requested_generations,
    start_requested,
)
from airflow_provider_blockread.ledger.windows.generations import latest_generation, list_groups
from airflow_provider_blockread.ledger.windows.groups import claim_group
from tests.ledger.clock import Clock
from tests.ledger.make import open_window, publish, ref


def test_the_same_command_is_one_request_until_it_is_finished(ledger: Ledger) -> None:
    """Arguments in another order are the same ones; other arguments, or one that is finished, are another request."""
    first = open_request(ledger, "rebuild", {"feed": "a", "key": "b"}, who="me")
    same = open_request(ledger, "rebuild", {"key": "b", "feed": "a"}, who="you")
    other = open_request(ledger, "rebuild", {"feed": "a"}, who="me")
    finish_request(ledger, first)

    assert (same, first.who) == (first, "me")
    assert other.id != first.id
    assert find_request(ledger, "rebuild", {"feed": "a", "key": "b"}) is None
    assert open_request(ledger, "rebuild", {"feed": "a", "key": "b"}, who="me").id not in {first.id, other.id}


def test_of_many_who_begin_all_get_one(ledger: Ledger) -> None:
    """Processes that begin the same command at once share it."""
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda n: open_request(ledger, "rebuild", {}, who=str(n)).id, range(6)))

    assert len(set(found)) == 1


@pytest.mark.parametrize("ahead_s", [-300, 0, 300])
def test_windows_planned_by_a_clock_that_was_ahead_are_part_of_a_request(
    ledger: Ledger, clock: Clock, ahead_s: float
) -> None:
    """It begins no earlier than the newest window was planned, and otherwise now."""
    now = clock()
    clock.pass_seconds(ahead_s)
    open_window(ledger)
    clock.time = now

    begun = open_request(ledger, "rebuild", {}, who="me")
    assert begun.began_at == now + timedelta(seconds=max(ahead_s, 0))


def test_a_generation_is_started_under_the_published_options(ledger: Ledger) -> None:
    """It belongs to its request; a window that is not published, or a finished request, starts none."""
    window = open_window(ledger)
    request = open_request(ledger, "rebuild", {}, who="me")
    with pytest.raises(ConflictError, match="is no longer published; repeat the command"):
        start_requested(ledger, request, window.id)
    publish(ledger, window)
    started = start_requested(ledger, request, window.id)

    assert (started.number, started.state, started.options) == (2, "reading", {"delimiter": ","})
    assert requested_generations(ledger, request) == {window.id: started}
    finish_request(ledger, request)
    with pytest.raises(ConflictError, match="was finished by another process"):
        start_requested(ledger, request, window.id)
    assert latest_generation(ledger, window.id) == started


def test_groups_that_are_not_read_again_keep_their_results(ledger: Ledger) -> None:
    """They are done from the start, with result and sums of what is published; the others wait to be read."""
    window = open_window(ledger, groups=3)
    publish(ledger, window)
    request = open_request(ledger, "reprocess", {}, who="me")
    started = start_requested(ledger, request, window.id, again={1})
    before = list_groups(ledger, window.id, 1)
    after = list_groups(ledger, window.id, started.number)

    assert [group.state for group in after] == ["done", "pending", "done"]
    assert [(g.result_uri, g.result_hash, g.epoch, g.records) for g in (after[0], after[2])] == [
        (g.result_uri, g.result_hash, g.epoch, g.records) for g in (before[0], before[2])
    ]
    assert after[1].result_uri is None
    assert claim_group(ledger, ref(window, 0, 2), owner="me", clear_number=0, stale_after_s=1.0) is None
    assert claim_group(ledger, ref(window, 0, 2), owner="me", clear_number=1, stale_after_s=1.0) is not None
