"""Which files of a listing may be taken, what time each has, and what is left out and reported."""

from __future__ import annotations

from datetime import timedelta

import pytest

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Discovered
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from airflow_provider_blockread.ledger.windows.selection import pending_files
from airflow_provider_blockread.options import FileSource, Selection, TimePattern, nanoseconds
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, open_window, version

DAILY = Admission(pattern=TimePattern.parse("dt=%Y-%m-%d"))
NAMES = ("dt=2026-11-21/a", "dt=2026-11-20/b", "other/c")


def _waiting(ledger: Ledger, selection: Selection | None = None) -> list[str]:
    found = pending_files(ledger, FEED, selection or Selection(), block_size=4)
    return [item.version.path.removeprefix("file:///in/") for item in found]


def test_the_path_gives_the_order(ledger: Ledger) -> None:
    """A file's time is what its path names, whatever its modification time; one without a time is left out, counted."""
    files = [version(name, mtime_ns=order) for order, name in enumerate(NAMES, 1)]
    left_out = {"untimed": 1, "untimed_samples": ("file:///in/other/c",)}

    assert record_files(ledger, FEED, files, rules=DAILY) == Discovered(seen=3, new=3, **left_out)  # type: ignore[arg-type]
    assert record_files(ledger, FEED, files, rules=DAILY) == Discovered(seen=3, **left_out)  # type: ignore[arg-type]
    assert _waiting(ledger) == ["dt=2026-11-20/b", "dt=2026-11-21/a"]
    assert feed_counts(ledger, FEED) == {"ignored": 1, "pending": 2}


def test_another_pattern_gives_files_that_wait_another_time(ledger: Ledger) -> None:
    """The time of a waiting file is decided by each listing; what got a time joins, what lost it leaves."""
    files = [version(name, mtime_ns=order) for order, name in enumerate(NAMES, 1)]
    record_files(ledger, FEED, files)
    assert _waiting(ledger) == list(NAMES)

    assert record_files(ledger, FEED, files, rules=DAILY).untimed == 1
    assert _waiting(ledger) == ["dt=2026-11-20/b", "dt=2026-11-21/a"]
    assert record_files(ledger, FEED, files).returned == 1
    assert _waiting(ledger) == list(NAMES)


def test_a_file_without_a_time_fails(ledger: Ledger) -> None:
    """Under `fail` the error names the file, the pattern and what to do."""
    rules = Admission.of(FileSource("/in", time_pattern="dt=%Y-%m-%d"), Selection(on_untimed="fail"), ledger.now())

    with pytest.raises(SourceError, match=r"file:///in/c has no time: time_pattern 'dt=%Y-%m-%d' finds none .*exclude"):
        record_files(ledger, FEED, [version("c")], rules=rules)
    assert feed_counts(ledger, FEED) == {}


@pytest.mark.parametrize("selection", [Selection(select="interval"), Selection(max_age="1d"), Selection()])
def test_a_store_without_modification_times(ledger: Ledger, selection: Selection) -> None:
    """Files of no time are left out and counted where a time is needed, and taken where it is not."""
    rules = Admission.of(FileSource("/in"), selection, ledger.now())
    found = record_files(ledger, FEED, [version("a", mtime_ns=0)], rules=rules)

    assert found.untimed == (selection != Selection())
    assert len(_waiting(ledger)) == (selection == Selection())


def test_start_from_leaves_history_out(ledger: Ledger) -> None:
    """Older files are counted and never taken, until the bound is set back."""
    day = nanoseconds(ledger.now())
    files = [version("old", mtime_ns=day - 1), version("new", mtime_ns=day)]
    late = Selection(start_from="2026-01-01")
    rules = Admission.of(FileSource("/in"), late, ledger.now())

    assert record_files(ledger, FEED, files, rules=rules) == Discovered(seen=2, new=2, before_start=1)
    assert _waiting(ledger, late) == ["new"]
    assert record_files(ledger, FEED, files, rules=Admission(start_ns=day - 1)).returned == 1
    assert _waiting(ledger) == ["old", "new"]
    assert _waiting(ledger, late) == ["new"]


def test_a_file_grows_too_old_while_it_waits(ledger: Ledger, clock: Clock) -> None:
    """`max_age` is asked at every listing; what has grown older leaves the queue and is counted from then on."""
    selection, source = Selection(max_age="1h"), FileSource("/in")
    files = [version("a", mtime_ns=nanoseconds(clock() - timedelta(minutes=30)))]

    assert record_files(ledger, FEED, files, rules=Admission.of(source, selection, clock())).too_old == 0
    assert _waiting(ledger, selection) == ["a"]
    clock.pass_seconds(1801)
    assert _waiting(ledger, selection) == []
    assert record_files(ledger, FEED, files, rules=Admission.of(source, selection, clock())).too_old == 1
    assert feed_counts(ledger, FEED) == {"ignored": 1}


def test_what_is_taken_is_not_looked_at_again(ledger: Ledger) -> None:
    """Bounds are about files that nobody has taken; a taken one is neither counted nor moved."""
    open_window(ledger, names=["a"])
    rules = Admission(start_ns=100, pattern=DAILY.pattern)

    assert record_files(ledger, FEED, [version("a")], rules=rules) == Discovered(seen=1)
    assert feed_counts(ledger, FEED) == {"planned": 1}


def test_a_taken_file_that_changes_counts_once(ledger: Ledger) -> None:
    """A new version of a taken file is reported as modified, whatever its time."""
    open_window(ledger, names=["a"])
    changed = FileVersion(path="file:///in/a", size=11, mtime_ns=1)

    found = record_files(ledger, FEED, [changed], rules=Admission(start_ns=100))
    assert (found.ignored, found.before_start) == (1, 0)
