"""How the database answers what a page asks: by indexes of what the page is about, and not by reading whole tables."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.overview.feeds import DaySums, feeds_at_a_glance
from airflow_provider_blockread.ledger.overview.refs import all_feeds, dags_by_feed
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.queries import unpublished_windows
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, close_empty_window, freeze_window, open_window, plan, publish


def plans(ledger: Ledger, ask: Any) -> list[str]:
    """Return the lines of SQLite's plans of the statements that something asks."""
    asked: list[tuple[str, Any]] = []

    def listen(_connection: object, _cursor: object, statement: str, values: Any, *_others: object) -> None:
        asked.append((statement, values))

    with ledger.reading() as connection:
        engine = connection.engine
        event.listen(engine, "before_cursor_execute", listen)
        ask()
        event.remove(engine, "before_cursor_execute", listen)
        statements = [one for one in asked if one[0].startswith("SELECT")]
        found = [connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}", values).all() for text, values in statements]
    return [row[3] for one in found for row in one]


def scans(ledger: Ledger, ask: Any) -> list[str]:
    """Return each full scan of a large table among these plans."""
    large = re.compile(r"SCAN (windows|generations|groups|files|outputs)\b(?!.*_(planning|unfinished))")
    return [line for line in plans(ledger, ask) if large.match(line)]


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # on a few rows, PostgreSQL scans
@pytest.mark.parametrize("path", ["feeds/1", "feeds/1?state=failed", "feeds/1?state=waiting", "windows/{window}"])
def test_a_page_of_one_feed_reads_no_whole_table(client: TestClient, env: Environment, clock: Clock, path: str) -> None:
    """Neither windows and generations of other feeds, nor groups of other windows."""
    publish(env.ledger, open_window(env.ledger))
    clock.pass_seconds(60)
    window = open_window(env.ledger, "waits", ("c",))

    assert scans(env.ledger, lambda: client.get(f"/ledgers/main/{path.format(window=window.id)}")) == []


def test_dags_are_those_of_all_runs_of_a_feed(ledger: Ledger) -> None:
    """Of those that planned its windows and of those that read them again; for one feed and for all."""
    runs = {"a": "first/manual__1", "b": "second/manual__1", "c": None}
    for key, run in runs.items():
        publish(ledger, window := open_window(ledger, f"by hand {key}", (key,)))
        freeze_window(ledger, replace(plan(key, files=0), run=run), [])
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1, run="third/manual__1")
    close_empty_window(ledger, "other", "k", owner="me")
    dags = frozenset({"first", "second", "third"})

    assert {row.name: row.dags for row in all_feeds(ledger)} == {FEED: dags, "other": frozenset()}
    with ledger.reading() as connection:
        assert dags_by_feed(connection, [1]) == {1: dags}


def test_the_last_publication_is_known_however_long_ago(ledger: Ledger, clock: Clock) -> None:
    """Also before the days that are summed, for a feed that others follow."""
    publish(ledger, open_window(ledger))
    at = ledger.now()
    clock.pass_seconds(30 * 86_400)
    publish(ledger, open_window(ledger, "k2", ("x",), feed="other"))
    found = {sums.name: sums for sums in feeds_at_a_glance(ledger)}

    assert (found[FEED].last_published_at, set(found[FEED].days)) == (at, {DaySums()})
    assert found["other"].last_published_at == ledger.now()


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)  # on a few rows, PostgreSQL scans
def test_a_plan_without_new_files_looks_at_unfinished_work_alone(ledger: Ledger) -> None:
    """And not at each window that the feed ever had, for those that are not published."""
    window = open_window(ledger)

    assert any("uq_generations_unfinished" in line for line in plans(ledger, lambda: unpublished_windows(ledger, FEED)))
    assert [left.id for left in unpublished_windows(ledger, FEED)] == [window.id]
    publish(ledger, window)
    assert unpublished_windows(ledger, FEED) == []
