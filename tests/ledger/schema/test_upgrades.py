"""A ledger of an earlier package is refused until it is upgraded; then its rows are there and its windows continue."""

from __future__ import annotations

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, func, inspect, select, text

from airflow_provider_blockread.errors import LedgerSchemaError
from airflow_provider_blockread.ledger import migrations
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.schema.views import VIEWS
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import get_generation, list_groups
from airflow_provider_blockread.ledger.windows.groups import claim_group, complete_group
from airflow_provider_blockread.ledger.windows.journal import confirm_entries, journal
from airflow_provider_blockread.ledger.windows.publishing import finish_publication, mark_proven
from airflow_provider_blockread.ledger.windows.queries import feed_counts, list_files
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, SUMS, claim, committer, open_window, outcome, publish, ref, steps
from tests.ledger.schema.revisions import DATABASES, NEXT, kept, make, newest, one_more_revision

NEWEST = tables.REVISIONS[-1]


def test_revisions_are_those_of_the_migrations() -> None:
    """The revisions that the check knows are the migrations that exist, in order."""
    scripts = ScriptDirectory.from_config(migrations.config())

    assert [script.revision for script in scripts.walk_revisions()][::-1] == list(tables.REVISIONS)


@pytest.mark.parametrize("database", DATABASES)
def test_a_schema_changes_by_a_revision(database: str) -> None:
    """What a new ledger is made by is kept for each revision; after a release it stays as it is."""
    assert kept(NEWEST, database).read_text("utf-8") == newest(database)


@pytest.mark.parametrize("revision", tables.REVISIONS)
def test_an_upgraded_ledger_is_as_a_new_one(ledger: Ledger, revision: str) -> None:
    """Columns, types, keys, checks and indexes are the same."""
    with ledger.writing() as connection:
        new = _schema(connection)
        for view in VIEWS:
            connection.execute(text(f"DROP VIEW {view}"))
        tables.metadata.drop_all(connection)
        make(connection, revision)
    ledger.upgrade()
    with ledger.reading() as connection:
        upgraded = _schema(connection)

    assert len(new) == len(tables.metadata.tables)
    assert upgraded == new


def test_an_older_ledger_is_upgraded_and_keeps_every_row(ledger: Ledger) -> None:
    """It is refused with the command that helps, which says from where to where it went; the same again is none."""
    publish(ledger, open_window(ledger, "k1"))
    open_window(ledger, "k2", ["c"])
    with ledger.reading() as connection:
        before = _rows(connection)

    with one_more_revision():
        with pytest.raises(LedgerSchemaError, match=f"is at revision {NEWEST}, older than this package; run `blockr"):
            ledger.check()
        assert str(ledger.upgrade()) == f"upgraded from revision {NEWEST} to {NEXT}"
        assert str(ledger.upgrade()) == f"at revision {NEXT} already"
        ledger.check()
    with ledger.reading() as connection:
        after = _rows(connection)
        added = connection.scalars(text("SELECT DISTINCT scratch FROM files")).all()
    assert (after, added) == (before, ["as before"])
    with pytest.raises(LedgerSchemaError, match=f"is at revision {NEXT}, newer than this package"):
        ledger.upgrade()


def test_windows_go_on_after_an_upgrade(ledger: Ledger, clock: Clock) -> None:
    """The group that ran is taken over, the window proven and published."""
    window = open_window(ledger)
    done, running = ref(window, 0), ref(window, 1)
    complete_group(ledger, claim(ledger, done), outcome(done))
    claim(ledger, running)
    with one_more_revision():
        ledger.upgrade()

    assert [group.state for group in list_groups(ledger, window.id, 1)] == ["done", "running"]
    clock.pass_seconds(3600)
    heir = claim_group(ledger, running, owner="heir", clear_number=0, stale_after_s=60)
    assert heir is not None
    assert heir.epoch == 2
    complete_group(ledger, heir, outcome(running, heir.epoch))
    held = committer(ledger, window)
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, steps())
    confirm_entries(ledger, held, [0, 1, 2])
    finish_publication(ledger, held)

    assert get_generation(ledger, window.id, 1).state == "published"
    assert feed_counts(ledger, FEED) == {"done": 2}
    assert {row.window for row in list_files(ledger, FEED)} == {window.id}


def _rows(connection: Connection) -> dict[str, int]:
    """Return the number of rows of every table and view."""
    names = (*inspect(connection).get_table_names(), *VIEWS)
    return {name: connection.scalar(select(func.count()).select_from(text(name))) or 0 for name in names}


def _schema(connection: Connection) -> dict[str, list[str]]:
    """Return each table's definition as the database reports it, its parts in a fixed order."""
    names = [name for name in inspect(connection).get_table_names() if name in tables.metadata.tables]
    if connection.dialect.name == "sqlite":
        query = "SELECT sql FROM sqlite_master WHERE tbl_name = :name AND sql IS NOT NULL"
        return {
            name: sorted(line for sql in connection.scalars(text(query), {"name": name}) for line in _lines(sql))
            for name in names
        }
    columns = "column_name, data_type, character_maximum_length, is_nullable, column_default, collation_name"
    here = "WHERE table_schema = current_schema()"
    queries = (
        (
            "SELECT pg_get_constraintdef(oid) || conname FROM pg_constraint WHERE conrelid = CAST(:name AS regclass)"
            " AND contype <> 'n'"
        ),  # PostgreSQL 18 names those, after what a table was called; `is_nullable` says it below
        "SELECT indexdef FROM pg_indexes WHERE tablename = :name AND schemaname = current_schema()",
        f"SELECT concat_ws(' ', {columns}) FROM information_schema.columns {here} AND table_name = :name",  # noqa: S608
    )
    return {name: sorted(v for q in queries for v in connection.scalars(text(q), {"name": name})) for name in names}


def _lines(sql: str) -> list[str]:
    """Return the parts of a definition; SQLite puts a column that was added later on the line of the last one."""
    lines = [line.strip().rstrip(",").strip() for line in sql.strip().splitlines()]
    whole = ("CREATE", "CONSTRAINT")
    return [part for line in lines for part in ([line] if line.startswith(whole) else line.split(", "))]
