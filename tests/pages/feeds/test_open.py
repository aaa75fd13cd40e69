"""Windows that are not over: those that failed are seen first, however many others there are, on both databases."""

from __future__ import annotations

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from airflow_provider_blockread.blocks.ids import window_id
from airflow_provider_blockread.ledger.overview import unfinished
from airflow_provider_blockread.ledger.overview.feeds import feeds_at_a_glance
from airflow_provider_blockread.ledger.overview.windows import WindowFilter, list_page
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.groups import fail_group
from airflow_provider_blockread.ledger.windows.planning import claim_window
from airflow_provider_blockread.pages.display.conditions import condition_of
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, claim, open_window, publish, ref


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two windows of a feed are enough to reach the limit."""
    monkeypatch.setattr(unfinished, "MOST_OPEN", 2)


def fail(ledger: Ledger, key: str, feed: str = FEED) -> None:
    """Open a window whose group fails."""
    fail_group(ledger, claim(ledger, ref(open_window(ledger, key, (key,), feed=feed))), "broke")


def wait(ledger: Ledger, clock: Clock, feed: str = FEED) -> None:
    """Open newer windows that wait, more than the limit."""
    for number in range(4):
        clock.pass_seconds(60)
        open_window(ledger, f"newer {number}", (f"{feed} {number}",), feed=feed)


def test_what_failed_is_one_click_away(client: TestClient, ledger: Ledger, clock: Clock) -> None:
    """From all feeds, and from the feed's page: its list and its chart may have newer windows only."""
    fail(ledger, "bad")
    wait(ledger, clock)
    link = f'<a href="/ledgers/main/windows/{window_id(FEED, "bad")}">1 window failed</a>: broke'

    assert [client.get(page).text.count(link) for page in ("/", "/ledgers/main/feeds/1")] == [1, 1]


@pytest.mark.parametrize("backfilled", [FEED, "another"])
def test_a_feed_fails_however_many_newer_windows_wait(
    client: TestClient, ledger: Ledger, clock: Clock, backfilled: str
) -> None:
    """In its own feed or in another; its health and its list have the window, too."""
    fail(ledger, "bad")
    wait(ledger, clock, backfilled)
    sums = next(one for one in feeds_at_a_glance(ledger) if one.name == FEED)

    assert condition_of(sums, ledger.now(), lambda error: error).why == "1 window failed: broke"
    assert "1 window failed or stalled" in client.get("/ledgers/main/health").text
    assert [row.window.key for row in list_page(ledger, 1, WindowFilter(state="failed"))] == ["bad"]


def test_a_stalled_window_is_seen_before_those_that_wait(ledger: Ledger, clock: Clock) -> None:
    """The one of a reader or a planner that died, although newer ones are open."""
    claim(ledger, ref(open_window(ledger, "stalled", ("a",))))
    wait(ledger, clock)
    claim_window(ledger, FEED, "planned", owner="planner", run=None, interval_ns=None).__enter__()
    clock.pass_seconds(3600)
    [sums] = feeds_at_a_glance(ledger)

    assert [one.window.key for one in sums.open] == ["planned", "stalled"]
    assert [row.window.key for row in list_page(ledger, 1, WindowFilter(state="stalled"))] == ["planned", "stalled"]


def test_a_count_at_the_limit_says_that_there_may_be_more(client: TestClient, ledger: Ledger) -> None:
    """On the page of feeds and on that of health; below the limit it is exact."""
    said = []
    for key in "abc":
        fail(ledger, key)
        [sums] = feeds_at_a_glance(ledger)
        health = client.get("/ledgers/main/health").text
        why = condition_of(sums, ledger.now(), lambda error: error).why
        said.append((why.partition(":")[0], "2 or more windows failed or stalled" in health))

    assert said == [("1 window failed", False), ("2 or more windows failed", True), ("2 or more windows failed", True)]


def test_pages_of_a_state_go_on_until_they_are_full(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the windows between them are in another state; going on from the last shows each once."""
    monkeypatch.setattr("airflow_provider_blockread.ledger.overview.windows.JUDGED", 2)
    for number in range(7):
        group = claim(ledger, ref(open_window(ledger, f"k{number}", (f"f{number}",))))
        if number not in {0, 3}:
            fail_group(ledger, group, "broke")
            claim(ledger, ref(open_window(ledger, f"other{number}", (f"o{number}",)), 1))
    seen, before = [], None
    while page := list_page(ledger, 1, WindowFilter(state="reading"), before=before, limit=3):
        seen.append([row.window.key for row in page])
        before = page[-1].window.sequence

    assert seen == [["other6", "other5", "other4"], ["k3", "other2", "other1"], ["k0"]]


def test_windows_that_failed_are_not_read_to_find_one_at_work(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A filter takes as many statements however many of them there are."""
    monkeypatch.setattr("airflow_provider_blockread.ledger.overview.windows.JUDGED", 2)
    claim(ledger, ref(open_window(ledger, "reads", ("a",))))
    asked: list[str] = []
    with ledger.reading() as connection:
        event.listen(connection.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    counts = []
    for number in range(4):
        fail(ledger, f"bad {number}")
        asked.clear()
        assert [row.window.key for row in list_page(ledger, 1, WindowFilter(state="reading"))] == ["reads"]
        counts.append(len(asked))

    assert len(set(counts)) == 1, counts


def test_a_published_window_is_listed_as_what_it_is(ledger: Ledger) -> None:
    """One whose rebuild fails is failed, on the page and in the filter."""
    for key in ("fine", "rebuilt"):
        publish(ledger, window := open_window(ledger, key, (key,)))
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)
    fail_group(ledger, claim(ledger, ref(window, generation=2), clear_number=1), "broke")

    def keys(state: str) -> list[str]:
        return [row.window.key for row in list_page(ledger, 1, WindowFilter(state=state))]

    assert (keys("published"), keys("failed")) == (["fine"], ["rebuilt"])
