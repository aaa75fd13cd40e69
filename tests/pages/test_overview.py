"""What the ledger answers to pages: sums, pages by key and filters, on both databases."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import event

from airflow_provider_blockread.blocks.ids import window_id
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.overview.calendar import feed_days
from airflow_provider_blockread.ledger.overview.feeds import feeds_at_a_glance
from airflow_provider_blockread.ledger.overview.files import find_files, left_out_files, waiting_files
from airflow_provider_blockread.ledger.overview.health import ledger_database, ledger_health
from airflow_provider_blockread.ledger.overview.window import file_pieces
from airflow_provider_blockread.ledger.overview.windows import WindowFilter, find_windows, list_page
from airflow_provider_blockread.ledger.schema.tables import REVISIONS, files
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_abandoning, finish_withdrawal, release_files
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.groups import fail_group
from airflow_provider_blockread.ledger.windows.selection import late_files
from airflow_provider_blockread.options import nanoseconds
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, claim, close_empty_window, open_window, publish, ref, version


def test_sums_are_those_of_the_files(ledger: Ledger) -> None:
    """What waits and what was published is counted as it is."""
    publish(ledger, open_window(ledger, names=("a", "b")))
    record_files(ledger, FEED, [version("c", size=7), version("d", size=5, mtime_ns=9)], complete=False)
    [sums] = feeds_at_a_glance(ledger)

    assert (sums.backlog.files, sums.backlog.bytes, sums.backlog.oldest_ns) == (2, 12, 1)
    assert [(one.windows, one.records, one.bad_records) for one in sums.days] == [(0, 0, 0)] * 13 + [(1, 10, 1)]
    assert sums.last_published_at == ledger.now()


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_pages_of_windows_hold_each_window_once(ledger: Ledger, limit: int) -> None:
    """Going on from the last key shows all windows, newest first, and none twice."""
    keys = [f"k{n}" for n in range(7)]
    for key in keys:
        close_empty_window(ledger, FEED, key, owner="me")
    seen: list[str] = []
    before = None
    while page := list_page(ledger, 1, WindowFilter(), before=before, limit=limit):
        seen += [row.window.key for row in page]
        before = page[-1].window.sequence

    assert seen == keys[::-1]


def test_pages_of_files_hold_each_file_once(ledger: Ledger) -> None:
    """The same of files that wait, also of those with one time."""
    record_files(ledger, FEED, [version(f"f{n}", mtime_ns=n // 3) for n in range(10)], complete=False)
    seen: list[int] = []
    after = None
    while page := waiting_files(ledger, 1, after=after, limit=3):
        seen += [one.id for one in page]
        after = (page[-1].time_ns, page[-1].path, page[-1].id)

    assert sorted(seen) == list(range(1, 11))
    assert len(set(seen)) == len(seen)


def test_filters_choose_windows_by_what_they_are(ledger: Ledger) -> None:
    """By state, key, day, bad records; SQL's wildcards in a key are text."""
    publish(ledger, open_window(ledger, "done_1", ("a",)))
    fail_group(ledger, claim(ledger, ref(open_window(ledger, "bad%", ("b",)))), "broke")
    close_empty_window(ledger, FEED, "none", owner="me")

    def keys(wanted: WindowFilter) -> list[str]:
        return [row.window.key for row in list_page(ledger, 1, wanted)]

    assert keys(WindowFilter(state="failed")) == ["bad%"]
    assert keys(WindowFilter(state="published")) == keys(WindowFilter(bad=True)) == ["done_1"]
    assert keys(WindowFilter(state="empty")) == ["none"]
    assert keys(WindowFilter(text="%")) == ["bad%"]
    assert keys(WindowFilter(text="_")) == ["done_1"]
    assert keys(WindowFilter(text=window_id(FEED, "none")[:6])) == ["none"]
    assert keys(WindowFilter(rebuilt=True)) == []
    assert len(keys(WindowFilter(day=ledger.now().replace(hour=0)))) == 3
    assert keys(WindowFilter(day=ledger.now() - timedelta(days=2))) == []


def test_a_day_has_the_windows_of_its_intervals(ledger: Ledger, clock: Clock) -> None:
    """A backfilled window belongs to the day of its interval, as in the calendar, and not to that of its plan."""
    day = clock().replace(hour=0)
    past = day - timedelta(days=20)
    hour = (nanoseconds(past), nanoseconds(past + timedelta(hours=1)))
    close_empty_window(ledger, FEED, "backfilled", owner="me", interval_ns=hour)
    close_empty_window(ledger, FEED, "by hand", owner="me")
    found = {when: [row.window.key for row in list_page(ledger, 1, WindowFilter(day=when))] for when in (past, day)}
    counted = {one.date: one.windows for one in feed_days(ledger, [1], 30)[1] if one.windows}

    assert found == {past: ["backfilled"], day: ["by hand"]}
    assert counted == {past.date(): 1, day.date(): 1}


def test_a_day_has_each_window_as_the_list_has_it(ledger: Ledger, clock: Clock) -> None:
    """One that stalled is not merely planned, and one that was abandoned is counted."""
    given_up = open_window(ledger, "given up", ("a",))
    held = begin_abandoning(ledger, given_up.id, who="ann")
    release_files(ledger, held)
    finish_withdrawal(ledger, held)
    claim(ledger, ref(open_window(ledger, "stalled", ("b",))))
    clock.pass_seconds(3600)
    today = feed_days(ledger, [1], 1)[1][0]

    assert today.windows == len(list_page(ledger, 1, WindowFilter(day=clock().replace(hour=0)))) == 2
    assert (today.state, today.shares) == ("stalled", (("stalled", 1), ("abandoned", 1)))


def test_a_rebuild_that_failed_hides_no_window_of_its_day(ledger: Ledger) -> None:
    """It is failed and its window stays published, which makes no other window of the day less planned."""
    publish(ledger, window := open_window(ledger, "rebuilt", ("a",)))
    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)
    fail_group(ledger, claim(ledger, ref(window, generation=2), clear_number=1), "broke")
    open_window(ledger, "waits", ("b",))
    [today] = feed_days(ledger, [1], 1)[1]

    assert (today.windows, today.shares) == (2, (("failed", 1), ("planned", 1), ("published", 1)))


def test_late_files_of_many_feeds_are_found_at_once(ledger: Ledger) -> None:
    """As many as for each feed alone, also where intervals overlap, in no more statements for more feeds."""
    feeds_ = [FEED, "second", "third", "none"]
    for number, feed in enumerate(feeds_[:3]):
        for start in (0, 10, 20):
            close_empty_window(ledger, feed, f"{start:02d}", owner="me", interval_ns=(start, start + 10))
        if number != 1:
            close_empty_window(ledger, feed, "whole", owner="me", interval_ns=(0, 25 + number))
        times = range(number, 60, 3 + number)
        record_files(ledger, feed, [version(f"{feed}-{time}", mtime_ns=time) for time in times], complete=False)
    record_files(ledger, "none", [version("x")], complete=False)
    numbers = {row.name: row.id for row in feeds_at_a_glance(ledger)}
    asked: list[str] = []
    with ledger.reading() as connection:
        event.listen(connection.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    found = late_files(ledger, list(numbers.values()))

    assert sum(one.startswith("SELECT") for one in asked) == 3
    assert {feed: (found[numbers[feed]].files, *found[numbers[feed]].windows) for feed in feeds_} == {
        FEED: (10, "00", "whole", "10"),
        "second": (8, "00", "10", "20"),
        "third": (6, "00", "whole", "10"),
        "none": (0,),
    }
    assert all(late_files(ledger, [number]) == {number: found[number]} for number in numbers.values())
    assert late_files(ledger, []) == {}


def test_late_files_are_those_of_intervals_that_are_planned(ledger: Ledger) -> None:
    """A file that waits within a planned interval is late; one outside is not."""
    close_empty_window(ledger, FEED, "hour", owner="me", interval_ns=(10, 20))
    record_files(ledger, FEED, [version("in", mtime_ns=15), version("out", mtime_ns=25)], complete=False)

    assert [one.path for one in waiting_files(ledger, 1, late=True)] == ["file:///in/in"]


def test_late_files_of_many_intervals_are_all_shown(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals that follow each other are one range, however far apart the late files are."""
    monkeypatch.setattr(f"{waiting_files.__module__}._MOST_RANGES", 2)
    for start in range(0, 60, 10):
        close_empty_window(ledger, FEED, f"{start}", owner="me", interval_ns=(start, start + 10))
    late = [version(f"{start}", mtime_ns=start + 5) for start in range(0, 60, 20)]
    record_files(ledger, FEED, late, complete=False)

    assert [one.path for one in waiting_files(ledger, 1, late=True)] == [one.path for one in late]


def test_files_are_found_by_their_path_or_a_part_of_it(ledger: Ledger) -> None:
    """A whole path, a part, and nothing of a feed that is not asked about."""
    record_files(ledger, FEED, [version("a_b"), version("axb")], complete=False)

    def found(text: str, of: list[int]) -> list[str]:
        return [one.path for one in find_files(ledger, text, of=of, limit=9).files]

    assert found("file:///in/a_b", [1]) == ["file:///in/a_b"]
    assert found("a_", [1]) == ["file:///in/a_b"]
    assert len(found("/in/", [1])) == 2
    assert found("/in/", []) == []


def test_what_a_window_wrote_leads_to_it(ledger: Ledger) -> None:
    """A person who has a row of a table knows the name of its file, which holds the id of the window."""
    window, other = open_window(ledger, "a", ("a",)), open_window(ledger, "b", ("b",))
    written = f"part-w{window.id}-g1-00000-e1-t0-0000.parquet"

    for text in (written, f"s3://lake/day=1/{written}", f"blockread-{window.id}-g1-0-e1", f"{window.id} {other.key}!"):
        assert [one.window.id for one in find_windows(ledger, text, of=[1], limit=9)] == [window.id]
    assert find_windows(ledger, f"{window.id}{other.id}", of=[1], limit=9) == []


def test_a_whole_path_is_found_at_once(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files came after it; a local one also as people write it, without its scheme."""
    monkeypatch.setattr("airflow_provider_blockread.ledger.overview.files.SEARCHED_FILES", 1)
    for name in ("old", "newer", "old.csv"):
        record_files(ledger, FEED, [version(name)], complete=False)

    for text in ("file:///in/old", "/in/old"):
        found = find_files(ledger, text, of=None, limit=9)
        assert ([one.path for one in found.files], found.below) == (["file:///in/old"], None)
    assert find_files(ledger, "in/old", of=None, limit=9).below is not None


@pytest.mark.parametrize("limit", [2, 9])
def test_a_search_goes_on_until_all_files_are_looked_at(
    ledger: Ledger, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call looks at a few files; the calls together find each one once, newest first."""
    monkeypatch.setattr("airflow_provider_blockread.ledger.overview.files.SEARCHED_FILES", 3)
    names = ["x0", "y1", "x2", "x3", "y4", "y5", "y6", "y7", "x8", "x9"]
    for name in names:
        record_files(ledger, FEED, [version(name)], complete=False)
    found, shares, below = [], [], None
    while True:
        page = find_files(ledger, "/x", of=None, limit=limit, below=below)
        found += [one.path[-2:] for one in page.files]
        shares.append(page.searched)
        below = page.below
        if below is None:
            break

    assert found == ["x9", "x8", "x3", "x2", "x0"]
    assert shares == sorted(set(shares))
    assert shares[-1] == 1


def test_many_files_of_a_window_are_drawn_in_few_pieces(ledger: Ledger) -> None:
    """A piece has the sums of its files, and is as bad as the worst of them."""
    window = open_window(ledger, names=tuple("abcdefg"))
    publish(ledger, window)
    with ledger.writing() as connection:
        bad = files.c.path == "file:///in/e"
        connection.execute(files.update().where(bad).values(state="missing", bad_records=3))
    found = file_pieces(ledger, window.id, 1, pieces=3)

    assert [(one.path[-1], one.files, one.bytes, one.bad_records, one.state) for one in found] == [
        ("a", 3, 30, 0, "done"),
        ("d", 2, 20, 3, "missing"),
        ("f", 2, 20, 0, "done"),
    ]
    assert [one.files for one in file_pieces(ledger, window.id, 1, pieces=100)] == [1] * 7
    assert file_pieces(ledger, "no such window", 1, pieces=3) == []


def test_files_that_are_left_out_are_counted_and_listed(ledger: Ledger) -> None:
    """What is missing, changed or ignored is a number on one page, and a list on the next."""
    record_files(ledger, FEED, [version("gone"), version("old"), version("fine")], complete=False)
    with ledger.writing() as connection:
        for name, state in (("gone", "missing"), ("old", "ignored")):
            connection.execute(files.update().where(files.c.path == f"file:///in/{name}").values(state=state))
    [sums] = feeds_at_a_glance(ledger)

    assert sums.left_out == {"ignored": 1, "missing": 1}
    assert [one.state for one in left_out_files(ledger, 1)] == ["missing", "ignored"]


def test_health_names_what_is_stuck_and_what_is_old(
    ledger: Ledger, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader that died is stuck; a window published long ago can be pruned, of many a bounded number is counted."""
    publish(ledger, open_window(ledger, "old", ("a",)))
    clock.time += timedelta(days=100)
    claim(ledger, ref(open_window(ledger, "new", ("b",))))
    clock.pass_seconds(3600)
    database = ledger_database(ledger)

    assert [one.window.key for one in ledger_health(ledger).stuck] == ["new"]
    assert (database.prunable, database.revision) == (1, REVISIONS[-1])
    assert database.bytes > 0
    publish(ledger, open_window(ledger, "newer", ("c",)))
    clock.time += timedelta(days=100)
    assert ledger_database(ledger).prunable == 2
    monkeypatch.setattr("airflow_provider_blockread.ledger.overview.health.MOST_PRUNABLE", 1)
    assert ledger_database(ledger).prunable == 1
    assert {("files", 2, "rows"), ("windows", 2, "rows"), ("feeds", 1, "row")} <= set(database.tables)


def test_health_counts_the_rows_that_are_there(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not those that were deleted; it says where it has stopped counting."""
    monkeypatch.setattr("airflow_provider_blockread.ledger.overview.health._MOST_COUNTED", 3)
    record_files(ledger, FEED, [version(f"f{n}") for n in range(9)], complete=False)
    counts = []
    for _ in range(2):
        counts.append(next(one for one in ledger_database(ledger).tables if one.name == "files"))
        with ledger.writing() as connection:
            connection.execute(files.delete().where(files.c.id < 8))

    assert [(one.rows, one.note) for one in counts] == [(3, "rows or more"), (2, "rows")]
