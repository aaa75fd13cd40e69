"""Stretches: what listings need not look up, and that nothing is overlooked for it."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.ledger.files import stretches
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.files.stretches import KnownStretches, cut
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.exclusions import exclude_file
from airflow_provider_blockread.ledger.windows.queries import feed_counts, list_files
from tests.examples import examples
from tests.ledger.make import FEED, freeze_window, open_window, pending, plan, publish, version

LISTING = [version(f"{n:04}") for n in range(2_000)]


def looked_up(ledger: Ledger, listing: list[FileVersion]) -> int:
    """Return how many files of a listing would be looked up one by one."""
    known = KnownStretches(ledger, 1, 99)  # of the only feed
    return sum(stretch.files for stretch in known.new_in(cut(listing), 100))


@given(st.lists(st.integers(0, 5_000), unique=True), st.integers(1, 300))
def test_stretches_hold_the_listing_in_order(numbers: list[int], longest: int) -> None:
    """Nothing is lost or moved, none is longer than asked, and the same files make the same stretches."""
    listing = [version(str(n)) for n in sorted(numbers)]

    found = list(cut(listing, longest))

    assert [v for stretch in found for v in stretch.versions] == listing
    assert all(0 < stretch.files == len([*stretch.versions]) <= longest for stretch in found)
    assert [stretch.digest for stretch in cut(listing, longest)] == [stretch.digest for stretch in found]


def test_a_new_file_changes_the_stretch_it_lies_in() -> None:
    """Wherever it comes, the stretches before and after stay as they were."""
    before = {stretch.digest for stretch in cut(LISTING)}

    for place in (0, 700, 2_000):
        after = list(cut([*LISTING[:place], version(f"{place:04}-new"), *LISTING[place:]]))
        assert sum(stretch.digest not in before for stretch in after) <= 2


def test_known_files_are_not_looked_up(ledger: Ledger) -> None:
    """Once their window is planned, a listing looks only at the stretches of what came since."""
    record_files(ledger, FEED, LISTING)
    assert looked_up(ledger, LISTING) == len(LISTING)

    open_window(ledger, names=())
    assert looked_up(ledger, LISTING) == 0
    assert 0 < looked_up(ledger, [*LISTING, version("9999")]) < 1_000

    again = record_files(ledger, FEED, [*LISTING, version("9999")])
    assert (again.seen, again.new, again.missing) == (2_001, 1, 0)
    assert feed_counts(ledger, FEED) == {"pending": 1, "planned": 2_000}


def test_files_that_left_their_window_are_seen_again(ledger: Ledger) -> None:
    """A file that was excluded as missing comes back by the next listing that shows it."""
    window = open_window(ledger, names=[f"{n}" for n in range(300)])
    listing = [version(f"{n}") for n in range(300)]
    record_files(ledger, FEED, listing)
    exclude_file(ledger, window.id, "file:///in/7", reason="missing", who="me")

    assert record_files(ledger, FEED, listing).returned == 1
    assert [pending(ledger)] == [[8]]


def test_a_version_that_comes_back_after_it_was_replaced_is_found(ledger: Ledger) -> None:
    """An unread version is forgotten with its stretch: the same bytes at the same time are new once more."""
    newer = LISTING[0]._replace(mtime_ns=9)
    for listing in (LISTING, [newer, *LISTING[1:]], LISTING):
        record_files(ledger, FEED, listing)

    assert len(pending(ledger)) == len(LISTING)
    window = open_window(ledger, names=())
    assert window.files == len(LISTING)
    assert record_files(ledger, FEED, LISTING).ignored == 0


def test_too_many_unsettled_files_are_looked_up_one_by_one(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory stays bounded: beyond a number of paths, no stretch is trusted, and the result is the same."""
    record_files(ledger, FEED, LISTING)
    monkeypatch.setattr(stretches, "MAX_UNSETTLED", 10)

    assert looked_up(ledger, LISTING) == len(LISTING)
    assert record_files(ledger, FEED, LISTING[5:]).missing == 5


@examples(15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_listings_do_the_same_as_without_memory(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, data: st.DataObject
) -> None:
    """Whatever comes, goes, changes, is planned and published: a feed whose files are all looked up fares the same."""
    limits = {f"feed {uuid4()}": n for n in (stretches.MAX_UNSETTLED, -1)}
    for step in range(data.draw(st.integers(1, 6))):
        monkeypatch.setattr(stretches, "_CUT", data.draw(st.sampled_from([1, 2, 4])))
        shown = data.draw(st.dictionaries(st.integers(0, 9), st.integers(1, 3)))
        taken, published = data.draw(st.integers(0, 5)), data.draw(st.booleans())
        outcomes = []
        for feed, limit in limits.items():
            monkeypatch.setattr(stretches, "MAX_UNSETTLED", limit)
            listing = [version(str(name), mtime_ns=time) for name, time in sorted(shown.items())]
            found = record_files(ledger, feed, listing)
            waiting = pending(ledger, feed)[:taken]
            if waiting:
                window = freeze_window(ledger, plan(f"{step}", files=len(waiting), groups=1, feed=feed), waiting)
            if waiting and published:
                publish(ledger, window)
            outcomes.append(
                (found, sorted((row.version.path, row.version.mtime_ns, row.state) for row in list_files(ledger, feed)))
            )
        assert outcomes[0] == outcomes[1]
