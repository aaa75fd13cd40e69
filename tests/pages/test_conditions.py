"""How a feed is at a glance: healthy, behind, failing or idle, and when its next window comes, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.overview.feeds import feeds_at_a_glance
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.groups import fail_group
from airflow_provider_blockread.options import nanoseconds
from airflow_provider_blockread.pages.display.conditions import condition_of
from airflow_provider_blockread.pages.display.upcoming import NextWindow, next_window
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, claim, open_window, publish, ref, version


def condition(ledger: Ledger) -> str:
    """Return how the only feed is."""
    [sums] = feeds_at_a_glance(ledger)
    return condition_of(sums, ledger.now(), lambda error: error).word


def test_a_feed_that_fails_is_failing_until_it_is_read(ledger: Ledger) -> None:
    """A failed group makes the feed failing, and its error is why."""
    window = open_window(ledger)
    fail_group(ledger, claim(ledger, ref(window)), "it broke\nin detail")
    [sums] = feeds_at_a_glance(ledger)

    assert condition(ledger) == "failing"
    assert condition_of(sums, ledger.now(), lambda error: error).why == "1 window failed: it broke"


def test_a_feed_whose_reader_died_is_failing(ledger: Ledger, clock: Clock) -> None:
    """Nobody at work is as bad as an error."""
    claim(ledger, ref(open_window(ledger)))
    before = condition(ledger)
    clock.pass_seconds(120)

    assert (before, condition(ledger)) == ("healthy", "failing")


def test_a_feed_is_behind_when_a_file_waits_for_two_windows(ledger: Ledger, clock: Clock) -> None:
    """With a window every two hours, a file may wait for four."""
    for key in "abc":
        publish(ledger, open_window(ledger, key, (key,)))
        clock.pass_seconds(7200)
    record_files(ledger, FEED, [version("late", mtime_ns=nanoseconds(clock()))], complete=False)
    clock.pass_seconds(3 * 3600)
    before = condition(ledger)
    clock.pass_seconds(2 * 3600)

    assert (before, condition(ledger)) == ("healthy", "behind")


def test_a_file_waits_from_when_it_is_seen(client: TestClient, ledger: Ledger, clock: Clock) -> None:
    """Whatever time it is selected by: that of its path may be one of long ago."""
    long_ago = nanoseconds(clock() - timedelta(hours=29))
    record_files(ledger, FEED, [version("day=2025-12-30", mtime_ns=long_ago)], complete=False)
    [before], seen_at = feeds_at_a_glance(ledger), clock()
    word, page = condition(ledger), client.get("/ledgers/main/feeds/1").text
    clock.pass_seconds(25 * 3600)
    [sums] = feeds_at_a_glance(ledger)

    assert before.backlog.seen_at == seen_at
    assert word == "healthy"
    assert "first seen <time" in page
    assert condition_of(sums, clock(), lambda error: error).why.startswith("A file has waited for 25 h")


def test_the_next_window_comes_by_schedule_or_else_by_pace(ledger: Ledger, clock: Clock) -> None:
    """The earliest run of the feed's DAGs, where Airflow starts one; else as long after the last window as usual."""
    for key in "abc":
        publish(ledger, open_window(ledger, key, (key,)))
        clock.pass_seconds(7200)
    [sums] = feeds_at_a_glance(ledger)
    two, runs = replace(sums, dags=frozenset({"x", "y"})), {"x": clock() + timedelta(hours=9), "y": clock()}
    by_pace, by_schedule = next_window(sums, runs), next_window(two, runs)

    assert sums.last_window is not None
    assert sums.last_window.key == "c"
    assert by_pace == NextWindow(at=clock(), why="estimated from earlier windows")
    assert by_schedule == NextWindow(at=clock(), why="by the schedule of DAG y", dag="y")
    assert next_window(replace(sums, pace=None), runs) is None


def test_a_feed_is_behind_when_its_schedule_stands_still(ledger: Ledger, clock: Clock) -> None:
    """Nothing waits that anybody has seen, since nothing looks: a run is overdue for longer than two windows."""
    for key in "abc":
        publish(ledger, open_window(ledger, key, (key,)))
        clock.pass_seconds(7200)
    [sums] = feeds_at_a_glance(ledger)
    due = clock()
    by_pace, by_schedule = next_window(sums, {}), next_window(replace(sums, dags=frozenset("y")), {"y": due})
    clock.pass_seconds(4 * 3600)
    in_time = condition_of(sums, clock(), lambda error: error, by_schedule)
    clock.pass_seconds(600)
    late, other = (condition_of(sums, clock(), lambda error: error, one) for one in (by_schedule, by_pace))

    assert (in_time.word, late.word, other.word) == ("healthy", "behind", "healthy")
    assert late.why.startswith("A run of DAG y has been due for 4 h 10 min; nothing new at the last listing")


def test_a_feed_is_idle_while_its_dags_are_paused(ledger: Ledger, clock: Clock) -> None:
    """Nothing looks for files, so it is not called healthy; a file that waits too long is late all the same."""
    publish(ledger, open_window(ledger))
    [sums] = feeds_at_a_glance(ledger)
    sums = replace(sums, dags=frozenset("ab"))
    paused = next_window(sums, {"a": None, "b": None})
    idle = condition_of(sums, clock(), lambda error: error, paused)
    record_files(ledger, FEED, [version("late", mtime_ns=nanoseconds(clock()))], complete=False)
    clock.time += timedelta(days=2)
    [sums] = feeds_at_a_glance(ledger)
    late = condition_of(sums, clock(), lambda error: error, paused)

    assert (idle.word, late.word) == ("idle", "behind")
    assert idle.why.startswith("DAGs a, b are paused; nothing new at the last listing")
    assert late.why.startswith("DAGs a, b are paused; a file has waited for 2 days")
    assert next_window(replace(sums, dags=frozenset("ab")), {"a": None, "b": clock()}) == NextWindow(
        at=clock(), why="by the schedule of DAG b", dag="b"
    )


def test_a_feed_whose_listings_fail_is_failing_within_two_hours(ledger: Ledger, clock: Clock) -> None:
    """However often they are tried: nobody knows what has landed, whatever was published before."""
    publish(ledger, open_window(ledger))

    def unreadable() -> Iterator[FileVersion]:
        yield version("a", mtime_ns=2)
        msg = "it is gone"
        raise SourceError(msg)

    found = []
    for _ in range(2):
        clock.pass_seconds(2400)
        with pytest.raises(SourceError):
            record_files(ledger, FEED, unreadable())
        clock.pass_seconds(60)
        found.append(condition(ledger))
    clock.pass_seconds(2400)
    [sums] = feeds_at_a_glance(ledger)
    failing = condition_of(sums, clock(), lambda error: error)
    record_files(ledger, FEED, [], complete=False)

    assert found == ["healthy", "healthy"]
    assert failing.word == "failing"
    assert failing.why.startswith(
        "For 82 min, each listing has failed or not ended (the log of its plan says why); last"
    )
    assert condition(ledger) == "healthy"


def test_a_feed_is_behind_when_no_task_goes_on_with_a_window(ledger: Ledger, clock: Clock) -> None:
    """It was planned, and its run has ended, or its tasks find no place: its files wait as others do, and are new."""
    publish(ledger, open_window(ledger, "older"))
    open_window(ledger, "k", ("c",))
    clock.pass_seconds(23 * 3600)
    before = condition(ledger)
    clock.pass_seconds(2 * 3600)
    [sums] = feeds_at_a_glance(ledger)
    late = condition_of(sums, clock(), lambda error: error)

    assert (before, late.word) == ("healthy", "behind")
    assert late.why == "Window k has waited for 25 h; last published 25 h ago"


def test_a_feed_without_work_is_idle_after_two_weeks(ledger: Ledger, clock: Clock) -> None:
    """A feed that nobody plans is not healthy forever."""
    publish(ledger, open_window(ledger))
    clock.time += timedelta(days=13)
    before = condition(ledger)
    clock.time += timedelta(days=2)

    assert (before, condition(ledger)) == ("healthy", "idle")
