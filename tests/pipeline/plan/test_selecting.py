"""Which files windows take, from the option to what is published."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.windows.planning import Planner
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from airflow_provider_blockread.options import FileSource, Limits, Policies, Selection, nanoseconds
from airflow_provider_blockread.steps import Published, WindowRef, plan
from airflow_provider_blockread.steps.plan.preview import preview
from tests.pipeline.dying import Died
from tests.pipeline.make import Pipe, ReadHere

HOURLY = "dt=%Y-%m-%d/hr=%H"
DAY = datetime(2026, 11, 21, tzinfo=UTC)
HOUR_NS = 3600 * 10**9


@dataclass
class Feed:
    """A pipe whose files are selected by what their paths say."""

    pipe: Pipe
    selection: Selection = field(default=Selection(select="interval"))
    time_pattern: str | None = HOURLY

    def land(self, hour: int, *names: str) -> None:
        """Let files of an hour land, each with a record that is its name."""
        self.pipe.put({f"dt=2026-11-21/hr={hour:02d}/{name}": f"{name}\n".encode() for name in names})

    def plan(self, hour: int, *, clear_number: int = 0, dry: bool = False) -> WindowRef:
        """Plan the window of an hour; where what has arrived is selected, the hour is but its name."""
        start = nanoseconds(DAY + timedelta(hours=hour))
        by_time = self.selection.select == "interval"
        request = replace(
            self.pipe.request(f"hour {hour}", clear_number),
            source=FileSource(str(self.pipe.source), time_pattern=self.time_pattern),
            selection=self.selection,
            interval_ns=(start, start + HOUR_NS) if by_time else None,
        )
        if dry:
            preview(self.pipe.env, request)
        return WindowRef.from_json(plan(self.pipe.env, request).to_json())

    def run(self, hour: int, *, clear_number: int = 0) -> Published:
        """Take the window of an hour through all steps."""
        ref = self.plan(hour, clear_number=clear_number)
        if ref.status == "read":
            self.pipe.read(ref, clear_number=clear_number)
        return self.pipe.commit(ref)


@pytest.fixture
def hourly(here: Pipe) -> Feed:
    """A feed of hours, without Spark."""
    return Feed(here)


def test_an_interval_takes_the_files_whose_paths_name_it(hourly: Feed) -> None:
    """The path decides, not when the file was written; what names no time is left out, logged, and taken by no hour."""
    hourly.land(4, "a")
    hourly.land(5, "b")
    hourly.pipe.put({"dt=2026-11-21/c": b"c\n"})
    ref = hourly.plan(4, dry=True)

    assert (ref.files, ref.left_out) == (1, {"untimed": 1})
    assert "left out: 1 without a time (on_untimed='ignore')" in ref.message
    assert any(
        f"file without a known time: left out (on_untimed='ignore'), such as {hourly.pipe.uri('dt')}" in line
        for line in hourly.pipe.warnings
    )
    assert (hourly.run(4).records, hourly.run(5).records) == (1, 1)
    assert hourly.pipe.values() == ["a", "b"]
    assert feed_counts(hourly.pipe.env.ledger, "feed") == {"done": 2, "ignored": 1}


def test_an_interval_without_files_is_named(hourly: Feed) -> None:
    """So that nothing is no riddle where the listing has found files, of other times."""
    hourly.land(4, "a")

    assert hourly.plan(5).message.endswith(": nothing new to read from 2026-11-21T05:00:00Z to 2026-11-21T06:00:00Z")


def test_a_file_without_a_time_fails_the_plan(hourly: Feed) -> None:
    """Where that is asked for, nothing is planned until the pattern fits or the file is excluded."""
    hourly.selection = Selection(select="interval", on_untimed="fail")
    hourly.pipe.put({"c": b"c\n"})

    with pytest.raises(SourceError, match=r"/c has no time: time_pattern 'dt=%Y-%m-%d/hr=%H' finds none in its path"):
        hourly.plan(4)


def test_late_files_join_the_next_window(hourly: Feed) -> None:
    """Under `next` a file that comes after its hour was planned is read with the next hour, and the message says so."""
    hourly.land(4, "a")
    hourly.run(4)
    hourly.land(4, "late")
    hourly.land(5, "b")
    hourly.land(6, "to come")
    ref = hourly.plan(5)

    assert ref.files == 2
    assert "1 of the files came too late for their own interval (late='next')" in ref.message
    hourly.run(5)
    assert hourly.pipe.values() == ["a", "b", "late"]


def test_late_files_are_reported_and_wait(hourly: Feed) -> None:
    """Under `report` they are counted by every plan, and taken by none."""
    hourly.selection = Selection(select="interval", late="report")
    hourly.land(4, "a")
    hourly.run(4)
    hourly.land(4, "late")

    for hour in (5, 6):
        ref = hourly.plan(hour)
        assert (ref.status, ref.left_out) == ("empty", {"late": 1})
        assert "left out: 1 late for their interval (late='report')" in ref.message
    assert (hourly.run(4, clear_number=1).generation, hourly.pipe.values()) == (2, ["a"])
    assert feed_counts(hourly.pipe.env.ledger, "feed")["pending"] == 1


@pytest.mark.slow
def test_late_files_reopen_their_interval(hourly: Feed) -> None:
    """Under `reopen` a plan of the hour again takes them beside its window, which stays as it is."""
    hourly.selection = Selection(select="interval", late="reopen")
    hourly.land(4, "a")
    first = hourly.run(4)
    hourly.land(4, "late")
    late = hourly.plan(5)
    again = hourly.run(4, clear_number=1)

    assert "1 late for their interval (late='reopen'): clear the runs of windows 'hour 4' to take them" in late.message
    assert (again.key, again.generation, again.records) == ("hour 4/late-1", 1, 1)
    assert hourly.pipe.values() == ["a", "late"]
    assert hourly.run(4, clear_number=1).key == "hour 4/late-1"  # a retry of that run has nothing to do

    rebuilt = hourly.run(4, clear_number=2)  # nothing is late any more: the clear is about the hour's window
    assert (rebuilt.window, rebuilt.generation) == (first.window, 2)
    hourly.land(4, "later")
    assert hourly.run(4, clear_number=3).key == "hour 4/late-2"
    assert hourly.pipe.values() == ["a", "late", "later"]


@pytest.mark.slow
def test_a_window_of_late_files_that_came_to_nothing(hourly: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its planner died and its file is gone: a clear is about the hour's window; the next late file gets its key."""

    def die(*_: object) -> None:
        raise Died

    hourly.selection = Selection(select="interval", late="reopen")
    hourly.land(4, "a")
    first = hourly.run(4)
    hourly.land(4, "late")
    with monkeypatch.context() as patch:
        patch.setattr(Planner, "open", die)
        patch.setattr(Planner, "__exit__", die)
        with pytest.raises(Died):
            hourly.plan(4, clear_number=1)
    (hourly.pipe.source / "dt=2026-11-21/hr=04/late").unlink()
    hourly.plan(4, clear_number=1)

    rebuilt = hourly.run(4, clear_number=2)
    assert (rebuilt.window, rebuilt.generation) == (first.window, 2)
    hourly.land(4, "later")
    assert hourly.run(4, clear_number=3).key == "hour 4/late-1"
    assert hourly.pipe.values() == ["a", "later"]


@pytest.mark.slow
def test_a_reopened_interval_is_resumed_first(hourly: Feed) -> None:
    """What is planned and not published is finished before more late files are taken."""
    hourly.selection = Selection(select="interval", late="reopen")
    hourly.land(4, "a")
    hourly.plan(4)
    hourly.land(4, "b")
    assert (hourly.plan(4).key, hourly.run(4).key) == ("hour 4", "hour 4")
    hourly.plan(4)
    hourly.land(4, "c")

    assert hourly.run(4).files == 1
    assert hourly.run(4).key == "hour 4/late-2"
    assert hourly.pipe.values() == ["a", "b", "c"]


def test_bounds_leave_history_out_and_say_how_much(here: Pipe) -> None:
    """`start_from` and `max_age` each count what they leave out, and a later run without them takes it."""
    here.time = DAY + timedelta(hours=12)
    feed = Feed(here, selection=Selection(start_from="2026-11-21T02:00Z", max_age="6h"))
    for hour in (1, 4, 5, 7):
        feed.land(hour, f"h{hour}")
    ref = feed.plan(0)

    assert (ref.files, ref.left_out) == (1, {"before_start": 1, "too_old": 2})
    assert "left out: 1 before start_from='2026-11-21T02:00Z', 2 older than max_age='6h'" in ref.message
    feed.run(0)
    feed.selection = Selection()
    assert feed.plan(1).files == 3


@pytest.mark.parametrize(("rule", "values"), [("ignore", ["a1", "b1"]), ("add", ["a1", "a2", "a2", "b1"])])
def test_a_modified_file_is_ignored_or_added(here: Pipe, rule: str, values: list[str]) -> None:
    """A file that grew after it was published causes a warning, and is read again, whole, only on request."""
    feed = Feed(here, Selection(on_modified=rule), time_pattern=None)
    here.put({"a": b"a1\n"})
    feed.run(0)
    here.put({"a": b"a2\na2\n", "b": b"b1\n"})
    ref = feed.plan(1)
    feed.run(1)

    assert here.values() == values
    assert ref.left_out == ({"modified": 1} if rule == "ignore" else {})
    assert ("left out: 1 modified after they were taken (on_modified='ignore')" in ref.message) == (rule == "ignore")


def test_a_file_that_was_planned_before_it_was_written_is_read(here: Pipe) -> None:
    """A window has taken it without a record; the next one takes what was written since."""
    here.put({"a": b"", "b": b"b\n"})
    ref = here.plan()
    here.put({"a": b"a\n"})
    here.read(ref)
    here.commit(ref)

    assert (here.run("next").records, here.values()) == (1, ["a", "b"])


def test_a_modified_file_fails_the_plan(here: Pipe) -> None:
    """Nothing is planned then; once it is restored or the rule changed, the same key continues."""
    feed = Feed(here, Selection(on_modified="fail"), time_pattern=None)
    here.put({"a": b"a1\n"})
    feed.run(0)
    here.put({"a": b"a2\na2\n", "b": b"b1\n"})
    with pytest.raises(SourceError, match=r"/a was modified after it was taken \(now 6 bytes\); restore it, or set"):
        feed.plan(1)
    feed.selection = Selection()

    assert feed.run(1).files == 1
    assert here.values() == ["a1", "b1"]


@pytest.mark.slow
def test_limits_and_order_through_whole_windows(here: Pipe) -> None:
    """Newest first and all limits together, window after window until nothing is left; one file is read in parts."""
    feed = Feed(here, Selection(order="newest", limits=Limits(max_files=3, max_bytes=9, max_blocks=2)))
    here.block_size = 8
    for hour, size in enumerate((2, 30, 3, 3, 4)):
        feed.land(hour, f"{hour}" * (size - 1))

    assert [feed.run(number).bytes for number in range(7)] == [7, 3, 8, 8, 8, 8, 0]


def test_all_vanished_files_of_a_group_are_excluded_at_once(here: Pipe) -> None:
    """The read stops at the first of them and starts again once, not once for each."""
    here.put({f"{n:02d}": b"x\n" for n in range(14)})
    here.policies = Policies(on_missing="exclude", on_changed="exclude")
    here.submitter = counting = _Counting()
    ref = here.plan()
    for n in range(11):
        (here.source / f"{n:02d}").unlink()
    here.put({"12": b"longer\n"})
    here.read(ref)
    done = here.commit(ref)

    assert (counting.submitted, done.excluded, done.files, done.records) == (2, 12, 2, 2)
    assert "and so are 2 more" in here.warnings
    assert feed_counts(here.env.ledger, here.feed) == {"changed": 1, "done": 2, "missing": 11}


def test_exclusion_keeps_to_its_policy(here: Pipe) -> None:
    """Vanished files are excluded together; one that changed is not with them, and fails the read."""
    here.put({"a": b"a\n", "b": b"b\n", "c": b"c\n"})
    here.policies = Policies(on_missing="exclude")
    ref = here.plan()
    (here.source / "a").unlink()
    here.put({"b": b"longer\n"})

    with pytest.raises(SourceError, match=r"/b is no longer the version that was planned"):
        here.read(ref)
    assert feed_counts(here.env.ledger, here.feed) == {"missing": 1, "planned": 2}


class _Counting(ReadHere):
    """Counts its applications."""

    submitted = 0

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job."""
        self.submitted += 1
        super().submit(submission, name=name)
