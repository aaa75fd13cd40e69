"""What a listing makes of the ledger's file versions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Event

import pytest
from sqlalchemy import select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import ConflictError, SourceError
from airflow_provider_blockread.ledger.dialect import driver_digest, insert_many
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.discovery import _COLUMNS, record_files
from airflow_provider_blockread.ledger.model import Discovered
from airflow_provider_blockread.ledger.schema.columns import short_number
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.schema.tables import files
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.exclusions import exclude_file
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, open_window, pending, publish, version


def test_new_files_are_pending_once(ledger: Ledger) -> None:
    """A second listing of the same files finds nothing new."""
    files = [version(f"{n}") for n in range(7)]

    assert record_files(ledger, FEED, iter(files), batch_size=3) == Discovered(seen=7, new=7)
    assert record_files(ledger, FEED, iter(files), batch_size=3) == Discovered(seen=7)
    assert feed_counts(ledger, FEED) == {"pending": 7}


def test_two_feeds_see_every_file(ledger: Ledger) -> None:
    """What one feed has taken is new to another."""
    open_window(ledger)

    assert record_files(ledger, "other", [version("a"), version("b")]).new == 2
    assert len(pending(ledger, "other")) == 2
    assert pending(ledger) == []


def test_the_same_path_twice_in_a_listing_is_one_file(ledger: Ledger) -> None:
    """Roots that overlap list a file twice, in one batch or in two; it is recorded once."""
    record_files(ledger, FEED, [version("a"), version("a"), version("b"), version("a")], batch_size=2)

    assert feed_counts(ledger, FEED) == {"pending": 2}


def _insert_again(ledger: Ledger, window: str) -> None:
    """Insert a new file, and one that the window holds already."""
    with ledger.writing() as connection:
        known = connection.execute(select(files).where(files.c.window_id == window).limit(1)).one()
        digest = driver_digest(connection)
        both = ("f" * 32, "f" * 16), (known.path_digest, known.version_digest)
        pairs = [(digest(path), short_number(of_version)) for path, of_version in both]
        rows = [("pending", known.feed_id, 1, 1, "file:///in/new", 1, 1, None, *pair, 1) for pair in pairs]
        insert_many(connection, files, _COLUMNS, rows)


def test_rows_that_are_there_are_refused_as_a_conflict(ledger: Ledger) -> None:
    """However a database takes many rows at once: the error is the package's own, and nothing of them stays."""
    window = open_window(ledger).id

    with pytest.raises(ConflictError, match="another process changed the same rows"):
        _insert_again(ledger, window)

    assert pending(ledger) == []


def test_a_file_that_changes_before_it_is_planned_is_replaced(ledger: Ledger) -> None:
    """Only the newest version waits, under an id of its own, so that a plan of the old one fails."""
    record_files(ledger, FEED, [version("a")])
    old = pending(ledger)

    assert record_files(ledger, FEED, [version("a", size=11)]) == Discovered(seen=1, modified=1)
    assert feed_counts(ledger, FEED) == {"pending": 1}
    assert pending(ledger) != old


@pytest.mark.parametrize("done", [False, True])
def test_a_modified_file_is_ignored_and_counted_at_every_scan(ledger: Ledger, *, done: bool) -> None:
    """Under `ignore` a new version of a planned or done file is kept, not read, and always reported; one row a path."""
    window = open_window(ledger, names=["a"], groups=1)
    if done:
        publish(ledger, window)
    changed = [version("a", size=11)]

    first = record_files(ledger, FEED, changed)
    again = record_files(ledger, FEED, changed)
    record_files(ledger, FEED, [version("a", size=12)])

    assert first == Discovered(seen=1, modified=1, ignored=1, samples=("file:///in/a",))
    assert again == Discovered(seen=1, ignored=1, samples=("file:///in/a",))
    assert feed_counts(ledger, FEED) == {"done" if done else "planned": 1, "ignored": 1}
    assert pending(ledger) == []


@pytest.mark.parametrize("on_modified", ["ignore", "fail"])
@pytest.mark.parametrize("done", [False, True])
def test_what_is_written_to_a_file_that_was_empty_is_read(ledger: Ledger, on_modified: str, *, done: bool) -> None:
    """No record of it was taken, unless the empty file was one; the version after it is a modified one."""
    record_files(ledger, FEED, [version("a", size=0)])
    window = open_window(ledger, names=["b"], groups=1)
    if done:
        publish(ledger, window)
    written, rules = [version("a", size=11)], Admission(on_modified=on_modified)
    record = Admission(reads_empty=True)

    assert record_files(ledger, FEED, written, rules=record).ignored == 1
    assert record_files(ledger, FEED, written, rules=rules) == Discovered(seen=1, returned=1)
    open_window(ledger, "next", names=[], groups=1)
    assert record_files(ledger, FEED, [version("a", size=12)]).ignored == 1


def test_samples_of_ignored_files_are_few(ledger: Ledger) -> None:
    """The counts are exact, the samples stop at ten."""
    names = [f"{n}" for n in range(15)]
    open_window(ledger, names=names)

    found = record_files(ledger, FEED, [version(name, size=11) for name in names], batch_size=4)

    assert (found.ignored, len(found.samples)) == (15, 10)


def test_a_modified_file_is_added(ledger: Ledger) -> None:
    """Under `add` the new version waits to be read, also one that was ignored before."""
    open_window(ledger, names=["a", "b"])
    record_files(ledger, FEED, [version("a"), version("b", size=11)])

    found = record_files(
        ledger, FEED, [version("a", size=11), version("b", size=11)], rules=Admission(on_modified="add")
    )

    assert found == Discovered(seen=2, modified=1, returned=1)
    assert feed_counts(ledger, FEED) == {"pending": 2, "planned": 2}


def test_a_modified_file_fails(ledger: Ledger) -> None:
    """Under `fail` the error names feed and file, and nothing of its batch is kept."""
    open_window(ledger, names=["a"])

    with pytest.raises(SourceError, match="feed logs: file:///in/a was modified"):
        record_files(ledger, FEED, [version("new"), version("a", size=11)], rules=Admission(on_modified="fail"))
    assert feed_counts(ledger, FEED) == {"planned": 1}


def test_a_pending_file_goes_missing_and_comes_back(ledger: Ledger) -> None:
    """A listing that no longer shows a pending file takes it out of the queue, until it is seen again."""
    record_files(ledger, FEED, [version("a"), version("b")])
    waiting = pending(ledger)

    assert record_files(ledger, FEED, [version("b")]).missing == 1
    assert len(pending(ledger)) == 1
    assert record_files(ledger, FEED, [version("a"), version("b")]) == Discovered(seen=2, returned=1)
    assert pending(ledger) == waiting


def test_a_listing_says_nothing_of_what_it_does_not_cover(ledger: Ledger, clock: Clock) -> None:
    """Another one may be about to plan that; after a day without one, it is out of the queue."""
    rules = Admission(covers=lambda path: path.endswith("b"))
    record_files(ledger, FEED, [version("a"), version("b")])

    assert record_files(ledger, FEED, [], rules=rules).missing == 1
    clock.pass_seconds(90_000)
    assert record_files(ledger, FEED, [], rules=rules).missing == 1


def test_a_taken_file_does_not_go_missing(ledger: Ledger) -> None:
    """What a window holds stays as it is when the source is cleaned up."""
    open_window(ledger, names=["a"])

    assert record_files(ledger, FEED, []).missing == 0
    assert feed_counts(ledger, FEED) == {"planned": 1}


def test_a_listing_that_breaks_off_calls_nothing_missing(ledger: Ledger) -> None:
    """What it saw is kept; the scan has no end in the ledger."""
    record_files(ledger, FEED, [version("a")])

    def broken() -> Iterator[FileVersion]:
        yield from map(version, "bcdef")
        msg = "store went away"
        raise OSError(msg)

    with pytest.raises(OSError, match="went away"):
        record_files(ledger, FEED, broken(), batch_size=1)

    assert feed_counts(ledger, FEED) == {"pending": 5}  # the last one is left to the next listing
    with ledger.reading() as connection:
        assert connection.scalars(select(listings.c.finished_at).order_by(listings.c.id)).all()[1] is None


def test_a_partial_listing_calls_nothing_missing(ledger: Ledger) -> None:
    """Paths that came from upstream say nothing about other files."""
    record_files(ledger, FEED, [version("a")])

    assert record_files(ledger, FEED, [version("b")], complete=False).missing == 0
    assert len(pending(ledger)) == 2


def test_a_file_seen_by_a_newer_scan_is_not_missing(ledger: Ledger) -> None:
    """A scan that is overtaken by another does not call missing what the other found after it began."""

    def slow() -> Iterator[FileVersion]:
        yield version("a")
        record_files(ledger, FEED, [version("a"), version("late")])

    assert record_files(ledger, FEED, slow()).missing == 0
    assert len(pending(ledger)) == 2


def test_what_an_older_scan_records_while_a_newer_one_runs_is_not_missing(ledger: Ledger) -> None:
    """The newer scan passed the folder before the file came; the older one saw it, so it is there."""
    began, recorded = Event(), Event()

    def newer() -> Iterator[FileVersion]:
        began.set()
        recorded.wait(timeout=60)
        yield version("a")

    with ThreadPoolExecutor(1) as pool:

        def older() -> Iterator[FileVersion]:
            yield version("a")
            found.append(pool.submit(record_files, ledger, FEED, newer()))
            began.wait(timeout=60)
            yield version("late")
            recorded.set()

        found: list[Future[Discovered]] = []
        record_files(ledger, FEED, older(), batch_size=1)

    assert found[0].result().missing == 0
    assert len(pending(ledger)) == 2


@pytest.mark.parametrize("reason", ["missing", "changed"])
def test_a_file_that_a_window_could_not_read_is_read_later(ledger: Ledger, reason: str) -> None:
    """What was excluded because it was gone or changed waits again when it is seen, in whatever version."""
    window = open_window(ledger, names=["a", "b"])
    exclude_file(ledger, window.id, "file:///in/a", reason=reason, who="me")
    exclude_file(ledger, window.id, "file:///in/b", reason=reason, who="me")

    found = record_files(ledger, FEED, [version("a"), version("b", size=11)], rules=Admission(on_modified="fail"))

    assert found == Discovered(seen=2, modified=1, returned=1)
    assert len(pending(ledger)) == 2


def test_a_file_excluded_by_hand_stays_out(ledger: Ledger) -> None:
    """Its version is not offered again; a corrected one is."""
    window = open_window(ledger, names=["a", "b"])
    exclude_file(ledger, window.id, "file:///in/a", reason="broken header", who="me")

    record_files(ledger, FEED, [version("a"), version("b")])
    assert pending(ledger) == []
    record_files(ledger, FEED, [version("a", size=11), version("b")])
    assert len(pending(ledger)) == 1


def test_names_that_are_not_unicode_are_refused(ledger: Ledger) -> None:
    """A name that no database can store is an error that names it."""
    with pytest.raises(SourceError, match="not UTF-8; rename"):
        record_files(ledger, FEED, [version("bad\udcff")])
