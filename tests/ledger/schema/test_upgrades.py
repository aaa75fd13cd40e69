"""Ledgers of every released schema, with rows in them, become ledgers of this package, and their windows go on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import Connection, func, inspect, select, text

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import LedgerSchemaError
from airflow_provider_blockread.ledger import migrations
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.requests import open_request, start_requested
from airflow_provider_blockread.ledger.windows.generations import (
    get_generation,
    list_generations,
    list_groups,
    published_generation,
)
from airflow_provider_blockread.ledger.windows.groups import claim_group, complete_group
from airflow_provider_blockread.ledger.windows.journal import confirm_entries, journal, journal_entries
from airflow_provider_blockread.ledger.windows.publishing import finish_publication, mark_proven
from airflow_provider_blockread.ledger.windows.queries import feed_counts, get_window, list_files
from airflow_provider_blockread.ledger.windows.replacing import NewerPlan, record_versions
from tests.ledger.conftest import Clock
from tests.ledger.make import FEED, STALE_S, SUMS, committer, outcome, read_all, ref, steps, version

RELEASED = sorted((Path(__file__).parent / "released").glob("*.sql"))
# The rows that an upgrade moves elsewhere: the sums of what is published stand in the files' own rows.
MOVED = {"0001": {"file_sums": 2}}


def fill(connection: Connection, dump: Path) -> None:
    """Create the schema of a released revision, and its rows."""
    command.upgrade(migrations.config(connection), dump.stem)
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL TIME ZONE 'UTC'"))
        connection.execute(text("SELECT setval('files_id_seq', 99)"))
    else:
        connection.execute(text("INSERT INTO sqlite_sequence (name, seq) VALUES ('files', 99)"))
    for line in dump.read_text().splitlines():
        if not line.startswith("--"):
            connection.exec_driver_sql(line)
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT setval('scans_id_seq', 2)"))
        connection.execute(text("SELECT setval('feeds_id_seq', max(id)) FROM feeds"))


def counts(connection: Connection) -> dict[str, int]:
    """Return the number of rows of every table but Alembic's."""
    names = set(inspect(connection).get_table_names()) - {tables.VERSION_TABLE}
    return {name: int(connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()) for name in sorted(names)}  # noqa: S608 - our names


@pytest.fixture(params=RELEASED, ids=lambda dump: dump.stem)
def dump(request: pytest.FixtureRequest) -> Path:
    """The rows of a released revision."""
    found: Path = request.param
    return found


@pytest.fixture
def old(url: str, clock: Clock, dump: Path) -> Iterator[Ledger]:
    """A ledger as an earlier package left it."""
    clock.pass_seconds(5 * 86_400)
    ledger = Ledger(url, now=clock)
    with ledger.writing() as connection:
        fill(connection, dump)
    yield ledger
    ledger.close()


def test_there_is_a_dump_of_every_earlier_schema() -> None:
    """Each has rows of every table it had."""
    assert [dump.stem for dump in RELEASED] == list(tables.REVISIONS[:-1])


def test_an_upgrade_keeps_every_row(old: Ledger, dump: Path) -> None:
    """It says from where to where it went, and the same again is no upgrade."""
    with old.reading() as connection:
        before = counts(connection)
    with pytest.raises(LedgerSchemaError, match=f"is at revision {dump.stem}, older than this package"):
        old.check()

    assert str(old.upgrade()) == f"upgraded from revision {dump.stem} to {tables.REVISIONS[-1]}"
    assert str(old.upgrade()) == f"at revision {tables.REVISIONS[-1]} already"

    old.check()
    with old.reading() as connection:
        after = counts(connection)
    assert all(before.values())
    moved = MOVED[dump.stem]
    assert {name: after[name] + moved.get(name, 0) for name in before} == before


def test_files_are_the_same_after_an_upgrade(old: Ledger) -> None:
    """Versions, states, windows, times of discovery and sums; a listing finds nothing new in them."""
    old.upgrade()

    found = {(row.version, row.state, row.window and get_window(old, row.window).key) for row in list_files(old, FEED)}
    assert found == {
        *((version(name), "done", "k1") for name in "ab"),
        (version("c"), "excluded", "k1"),
        (FileVersion(path="file:///in/d", size=10, mtime_ns=2, etag='"tag"'), "planned", "k2"),
        (version("e", mtime_ns=2), "planned", "k2"),
        (version("f", mtime_ns=2), "pending", None),
        (version("a", size=11, mtime_ns=5), "ignored", None),
        (version("g"), "missing", None),
    }
    assert {row.discovered_at.day for row in list_files(old, FEED)} == {1, 2}
    with old.reading() as connection:
        sums = connection.execute(select(tables.files.c.records, tables.files.c.bad_records).order_by("id")).all()
    assert sums[:3] == [(2, None), (3, 1), (None, None)]

    again = record_files(old, FEED, [row.version for row in list_files(old, FEED)], complete=False)
    assert (again.new, again.modified, again.returned, again.ignored) == (0, 0, 1, 1)
    record_files(old, FEED, [version("z")], complete=False)
    with old.reading() as connection:
        assert connection.scalar(select(func.max(tables.files.c.id))) == 100  # no id is used again


def test_windows_go_on_after_an_upgrade(old: Ledger) -> None:
    """The group that ran is taken over, the window proven and published; what was published before still is."""
    old.upgrade()
    shown = published_generation(old, get_window(old, "k1").id)
    assert shown is not None
    assert (shown.number, shown.sums.records, shown.options) == (2, 5, {"delimiter": ","})
    assert [entry.action for entry in journal_entries(old, shown.window, 2)] == ["add", "remove"]

    window = get_window(old, "k2")
    running = ref(window, 1)
    assert [group.state for group in list_groups(old, window.id, 1)] == ["done", "running"]
    claim = claim_group(old, running, owner="heir", clear_number=0, stale_after_s=STALE_S)
    assert claim is not None
    assert claim.epoch == 2
    complete_group(old, claim, outcome(running, claim.epoch))
    held = committer(old, window)
    mark_proven(old, held, SUMS)
    journal(old, held, steps())
    confirm_entries(old, held, [0, 1, 2])
    finish_publication(old, held)

    assert get_generation(old, window.id, 1).state == "published"
    assert feed_counts(old, FEED) == {"done": 4, "excluded": 1, "ignored": 1, "missing": 1, "pending": 1}


def test_a_published_window_reads_a_newer_version_after_an_upgrade(old: Ledger) -> None:
    """One that was left out by the package before: what was read is replaced, and the window's plan stays as it was."""
    old.upgrade()
    window = get_window(old, "k1")
    older, newer = version("a"), version("a", size=11, mtime_ns=5)
    ids = {row.version: row.file for row in list_files(old, FEED)}
    assert record_versions(old, window, {ids[older]: newer}) == {ids[older]: ids[newer]}
    request = open_request(old, "reprocess", {}, who="me")
    plan = NewerPlan(base=2, manifest_uri="m", manifest_hash="h", groups=(), files={ids[older]: ids[newer]})
    started = start_requested(old, request, window.id, again=range(window.groups), plan=plan)
    read_all(old, window, started.number)
    held = committer(old, window, started.number)
    mark_proven(old, held, SUMS)
    journal(old, held, steps())
    confirm_entries(old, held, [0, 1, 2])
    finish_publication(old, held)

    states = {row.version: row.state for row in list_files(old, FEED)}
    assert (states[older], states[newer]) == ("replaced", "done")
    assert get_window(old, "k1") == window
    assert [found.manifest_uri for found in list_generations(old, window.id)] == [None, None, "m"]


def test_dumps_hold_no_secret_and_no_place(dump: Path) -> None:
    """They are made up."""
    assert not re.search(r"password|/home|/root", dump.read_text())
