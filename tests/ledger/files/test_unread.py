"""Unread files are those that a plan would take; finding them leaves everything as it was."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from sqlalchemy import func, select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.files.unread import newest_pending, pending_since, unread_files
from airflow_provider_blockread.ledger.schema.file_tables import listings, stretches
from airflow_provider_blockread.ledger.schema.tables import feeds, files
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.exclusions import exclude_file
from airflow_provider_blockread.ledger.windows.queries import list_files
from tests.examples import examples
from tests.ledger.make import FEED, freeze_window, open_window, pending, plan, version

_FEEDS = count()
LISTINGS = st.dictionaries(st.integers(0, 40), st.integers(1, 3), max_size=30)  # name -> content
ROUNDS = st.lists(st.tuples(LISTINGS, st.booleans(), st.sampled_from(["ignore", "add"])), max_size=4)


def shown(feed: str, listing: dict[int, int]) -> list[FileVersion]:
    """Return a listing: the content is the file's size and time."""
    return [version(f"{feed}/{name:02}", size=size, mtime_ns=size) for name, size in sorted(listing.items())]


def rows(ledger: Ledger) -> list[object]:
    """Return how much every table holds that a listing may write."""
    with ledger.reading() as connection:
        counts = [connection.scalar(select(func.count()).select_from(t)) for t in (feeds, files, listings, stretches)]
        return [*counts, connection.execute(select(files.c.id, files.c.state, files.c.last_listing)).all()]


@examples(25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROUNDS, LISTINGS, st.sampled_from(["ignore", "add"]), st.none() | st.integers(1, 3))
def test_unread_files_are_those_that_a_listing_would_leave_pending(
    ledger: Ledger,
    rounds: list[tuple[dict[int, int], bool, str]],
    listing: dict[int, int],
    on_modified: str,
    start_ns: int | None,
) -> None:
    """Whatever was listed and planned before: the same files, in the order listed, and nothing is written."""
    feed = f"feed {next(_FEEDS)}"
    for number, (earlier, planned, policy) in enumerate(rounds):
        record_files(ledger, feed, shown(feed, earlier), rules=Admission(on_modified=policy))
        found = pending(ledger, feed)
        if planned and found:
            freeze_window(ledger, plan(f"{number}", files=len(found), feed=feed), found)
    rules, before = Admission(on_modified=on_modified, start_ns=start_ns), rows(ledger)

    seen = [item.path for item in unread_files(ledger, feed, shown(feed, listing), rules=rules)]

    assert rows(ledger) == before
    record_files(ledger, feed, shown(feed, listing), rules=rules)
    waiting = {row.version.path for row in list_files(ledger, feed, state="pending", limit=1_000)}
    assert seen == [item.path for item in shown(feed, listing) if item.path in waiting]


def test_known_files_cost_no_lookup(ledger: Ledger) -> None:
    """A listing of known files is skipped by stretches; of what came since, the rest of its stretch is looked at."""
    listing = [version(f"{n:05}") for n in range(5_000)]
    record_files(ledger, FEED, listing)
    open_window(ledger, names=())
    assert list(unread_files(ledger, FEED, listing)) == []

    late = version("02500-late")
    assert list(unread_files(ledger, FEED, [*listing[:2_501], late, *listing[2_501:]])) == [late]


def test_an_excluded_file_that_is_back_and_a_modified_one_are_seen(ledger: Ledger) -> None:
    """What a listing would make pending again is new; under `fail` a modified file is an error, as in a plan."""
    window = open_window(ledger)
    exclude_file(ledger, window.id, "file:///in/a", reason="missing", who="me")
    changed = version("b")._replace(size=11)

    assert list(unread_files(ledger, FEED, [version("a"), changed])) == [version("a")]
    with pytest.raises(SourceError, match="was modified after it was taken"):
        list(unread_files(ledger, FEED, [changed], rules=Admission(on_modified="fail")))


def test_an_interval_bounds_what_is_found(ledger: Ledger) -> None:
    """Only files of its times are found, of a feed that nobody has named yet as well."""
    listing = [version(f"{n}", mtime_ns=n) for n in range(1, 6)]

    assert list(unread_files(ledger, "nobody's", listing, interval_ns=(2, 4))) == listing[1:3]


def test_marks_tell_what_was_discovered_since(ledger: Ledger) -> None:
    """Each file is after one mark, in the order of discovery; what a window took is passed over."""
    assert newest_pending(ledger, FEED) == 0
    record_files(ledger, FEED, [version("a"), version("b")])
    first = newest_pending(ledger, FEED)
    record_files(ledger, FEED, [version("c"), version("d")], complete=False)
    second = newest_pending(ledger, FEED)

    def since(mark: int, until: int) -> Iterator[str]:
        return (item.path[-1] for item in pending_since(ledger, FEED, mark, until))

    assert [*since(0, first)] == ["a", "b"]
    assert [*since(first, second)] == ["c", "d"]
    open_window(ledger, names=())
    assert [*since(0, second)] == []
    assert newest_pending(ledger, FEED) == 0
