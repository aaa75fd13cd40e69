"""The views that people query, after real windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.schema.views import VIEWS
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.retention import Bound, begin_pruning, drop_detail, finish_pruning
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_abandoning, finish_withdrawal, release_files
from airflow_provider_blockread.ledger.windows.exclusions import exclude_file
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.journal import confirm_entries, journal, record_file_sums
from airflow_provider_blockread.ledger.windows.planning import claim_window, release_stale_plans
from airflow_provider_blockread.ledger.windows.publishing import finish_publication, mark_proven
from airflow_provider_blockread.proof.model import FileSums
from tests.ledger.clock import Clock
from tests.ledger.make import (
    FEED,
    SUMS,
    committer,
    open_window,
    outputs,
    pending,
    publish,
    read_all,
    steps,
    version,
)

DOCUMENT = (Path(__file__).parents[3] / "docs" / "ledger.md").read_text()


def rows(ledger: Ledger, view: str, columns: str, order: str) -> Sequence[tuple[Any, ...]]:
    """Return some columns of a view, times as text to the minute."""
    with ledger.reading() as connection:
        found = connection.execute(text(f"SELECT {columns} FROM {view} ORDER BY {order}"))  # noqa: S608 - our names
        return [tuple(_minute(value) for value in row) for row in found]


def _minute(value: Any) -> Any:
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if isinstance(value, datetime) else _cut(value)


def _cut(value: Any) -> Any:
    return value[:16] if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d ", value) else value


@pytest.fixture
def window(ledger: Ledger, clock: Clock) -> Window:
    """A window of two files that is published, a third file excluded; one that is open; one file left, one missing."""
    window = open_window(ledger, "k1", ["a", "b", "c"])
    exclude_file(ledger, window.id, "file:///in/c", reason="rotten", who="me")
    clock.pass_seconds(60)
    read_all(ledger, window)
    held = committer(ledger, window)
    record_file_sums(ledger, held, [FileSums(file=n, records=n, bad_records=n - 1, bytes=10) for n in (1, 2)])
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, steps(), outputs=outputs())
    confirm_entries(ledger, held, [0, 1, 2])
    finish_publication(ledger, held)
    open_window(ledger, "k2", ["d"])
    record_files(ledger, FEED, [version("gone")], complete=False)
    record_files(ledger, FEED, [version(name) for name in "abcd"] + [version("e", mtime_ns=7)])
    return window


def test_file_lifecycle(ledger: Ledger, window: Window) -> None:
    """Where each file version came from, which window read it, and its outcome."""
    columns = "feed, path, state, discovered_at, window_key, generation, published_at, records, bad_records"
    start, later = "2026-01-01 00:00", "2026-01-01 00:01"

    assert rows(ledger, "file_lifecycle", columns, "path") == [
        (FEED, "file:///in/a", "done", start, "k1", 1, later, 1, 0),
        (FEED, "file:///in/b", "done", start, "k1", 1, later, 2, 1),
        (FEED, "file:///in/c", "excluded", start, "k1", 1, None, None, None),
        (FEED, "file:///in/d", "planned", later, "k2", None, None, None, None),
        (FEED, "file:///in/e", "pending", later, None, None, None, None, None),
        (FEED, "file:///in/gone", "missing", later, None, None, None, None, None),
    ]
    found = rows(ledger, "file_lifecycle", "window_id, excluded_because, excluded_by, size, mtime_ns", "path")
    assert found[2] == (window.id, "rotten", "me", 10, 1)


def test_window_audit(ledger: Ledger, window: Window) -> None:
    """Every pass over every window, with its sums and times."""
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)
    columns = "window_key, generation, generation_state, files, excluded_files, groups, groups_done, records"

    assert rows(ledger, "window_audit", columns, "window_key, generation") == [
        ("k1", 1, "published", 3, 1, 2, 2, 10),
        ("k1", 2, "reading", 3, 1, 2, 0, 0),
        ("k2", 1, "reading", 1, 0, 2, 0, 0),
    ]
    times = rows(ledger, "window_audit", "planned_at, published_at, pruned_at, output_files", "window_key, generation")
    assert times[0] == ("2026-01-01 00:00", "2026-01-01 00:01", None, 3)


def test_backlog(ledger: Ledger, window: Window) -> None:
    """What waits: files that no window has taken, and windows that are not published."""
    columns = "feed, pending_files, pending_bytes, oldest_pending_ns, open_windows, open_files, missing_files"

    assert window.id
    assert rows(ledger, "backlog", columns, "feed") == [(FEED, 1, 10, 7, 1, 1, 1)]
    assert rows(ledger, "backlog", "last_listed_at, oldest_open_at", "feed") == [
        ("2026-01-01 00:01", "2026-01-01 00:01")
    ]


def test_backlog_counts_what_will_be_read(ledger: Ledger, clock: Clock) -> None:
    """Not what was left out; also what a planner holds that died, and what a dead process has not returned."""
    columns = "pending_files, open_windows, open_files, open_bytes, missing_files"
    window = open_window(ledger, "k1", ["a", "b", "c"])
    exclude_file(ledger, window.id, "file:///in/a", reason="rotten", who="me")
    exclude_file(ledger, window.id, "file:///in/b", reason="missing", who="me")
    assert rows(ledger, "backlog", columns, "feed") == [(0, 1, 1, 10, 1)]

    withdrawal = begin_abandoning(ledger, window.id, who="me")
    assert rows(ledger, "backlog", columns, "feed") == [(0, 1, 1, 10, 1)]
    release_files(ledger, withdrawal)
    finish_withdrawal(ledger, withdrawal)
    assert rows(ledger, "backlog", columns, "feed") == [(1, 0, 0, 0, 1)]

    claim_window(ledger, FEED, "k2", owner="planner that dies").take(pending(ledger))
    assert rows(ledger, "backlog", columns, "feed") == [(0, 1, 1, 10, 1)]
    clock.pass_seconds(1000)
    release_stale_plans(ledger, FEED)
    assert rows(ledger, "backlog", columns, "feed") == [(1, 0, 0, 0, 1)]


def test_window_audit_of_what_was_pruned(ledger: Ledger, clock: Clock) -> None:
    """What is published is shown as before; of a generation that was replaced, only what is known is shown."""
    window = open_window(ledger)
    publish(ledger, window)
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)
    read_all(ledger, window, 2, clear_number=1)
    publish(ledger, window, 2)
    columns = "generation_state, groups_done, output_rows, output_files"
    assert rows(ledger, "window_audit", columns, "generation") == [("superseded", 2, 9, 3), ("published", 2, 9, 3)]

    clock.pass_seconds(1)
    assert begin_pruning(ledger, window.id, Bound(before=clock(), keep=0))
    drop_detail(ledger, window.id)
    finish_pruning(ledger, window.id)

    assert rows(ledger, "window_audit", columns, "generation") == [
        ("superseded", None, 9, None),
        ("published", 2, 9, 3),
    ]


def _documented(name: str) -> list[str]:
    """Return the columns that the document's section of a table or view names, in order."""
    section = re.search(rf"^### `{name}`\n(.*?)(?=^##|\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    return [] if section is None else re.findall(r"^\| `(\w+)` \|", section[1], re.MULTILINE)


@pytest.mark.parametrize("name", sorted(tables.metadata.tables))
def test_every_column_is_documented(name: str) -> None:
    """The document names the columns of each table, all of them and no others."""
    assert sorted(_documented(name)) == sorted(column.name for column in tables.metadata.tables[name].columns)


@pytest.mark.parametrize("name", VIEWS)
def test_every_column_of_a_view_is_documented(ledger: Ledger, name: str) -> None:
    """The document names the columns of each view, all of them and no others."""
    with ledger.reading() as connection:
        found = connection.execute(text(f"SELECT * FROM {name} WHERE 1 = 0"))  # noqa: S608 - our names
        assert _documented(name) == list(found.keys())


def test_nothing_is_documented_that_does_not_exist() -> None:
    """Every section is about a table or view that is there."""
    sections = re.findall(r"^### `(\w+)`$", DOCUMENT, re.MULTILINE)

    assert sorted(sections) == sorted([*tables.metadata.tables, *VIEWS])
