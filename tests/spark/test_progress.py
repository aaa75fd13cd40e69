"""What a driver reports while its tasks run."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import pytest

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.observer import LogObserver, Progress, Tally
from airflow_provider_blockread.spark.driver import Driver, Portion
from airflow_provider_blockread.spark.engines import rdd
from airflow_provider_blockread.spark.engines.in_process import InProcessEngine


@dataclass(frozen=True)
class Stage:
    """What Spark reports of a stage."""

    numTasks: int  # noqa: N815 - Spark's name
    numCompletedTasks: int  # noqa: N815
    numFailedTasks: int = 0  # noqa: N815
    numActiveTasks: int = 1  # noqa: N815


class Tracker:
    """Spark's tracker of stages."""

    def __init__(self, *stages: Stage | None) -> None:
        """Take the stages that run."""
        self.stages = stages

    def getActiveStageIds(self) -> list[int]:  # noqa: N802 - Spark's name
        """Return the numbers of the stages."""
        return list(range(len(self.stages)))

    def getStageInfo(self, number: int) -> Stage | None:  # noqa: N802
        """Return a stage; None where it has just ended."""
        return self.stages[number]


@dataclass(frozen=True)
class Accumulated:
    """Spark's accumulator."""

    value: Tally


class Context:
    """A Spark context whose only job ends once there is a line, or soon."""

    defaultParallelism, master = 2, "local[2]"  # noqa: N815
    applicationId, uiWebUrl = "local-1", None  # noqa: N815

    def __init__(self, tracker: Tracker, lines: list[str], seconds: float) -> None:
        """Take the tracker, where lines go, and how long to wait for one."""
        self.tracker, self.lines, self.seconds = tracker, lines, seconds
        self.read = Tally()

    def statusTracker(self) -> Tracker:  # noqa: N802
        """Return the tracker."""
        return self.tracker

    def setJobDescription(self, description: str) -> None:  # noqa: N802
        """Take what people see in Spark's own pages."""
        self.description = description

    def parallelize(self, *_: object) -> Context:
        """Return what makes an RDD."""
        return self

    mapPartitions = parallelize  # noqa: N815

    def accumulator(self, value: Tally, _: object) -> Accumulated:
        """Return what has added up what tasks read: as the test says."""
        return Accumulated(self.read or value)

    def collect(self) -> list[object]:
        """Wait, and return nothing."""
        deadline = time.monotonic() + self.seconds
        while not self.lines and time.monotonic() < deadline:
            time.sleep(0.01)
        return []


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Report every hundredth of a second."""
    monkeypatch.setattr(rdd, "REPORT_S", 0.01)


def portions(*sizes: int) -> list[Portion]:
    """Return a portion of one file for each of these sizes."""
    version = FileVersion("file:///a", max(sizes), 0)
    return [Portion([Block(number, 0, number, version, 0, size, 0, size)]) for number, size in enumerate(sizes)]


def logged(tracker: Tracker, seconds: float = 10) -> list[str]:
    """Return the lines that a job over 3 GB logs."""
    lines: list[str] = []
    context = Context(tracker, lines, seconds)
    driver = Driver(
        submission=Submission(spec_uri="", spec_hash=""),
        engine=rdd.RddEngine(context),
        observer=LogObserver(lines.append),
    )
    driver._run_tasks("feed f window w", lambda *_: None, portions(3 * 10**9), verb="read")
    assert context.description == "feed f window w: read"
    return lines


def test_progress_is_logged() -> None:
    """How many tasks are done, how much that is, and whether attempts failed."""
    assert logged(Tracker(None, Stage(40, 12)))[0] == "read 12 of 40 tasks, about 900.0 MB of 3.0 GB"
    assert logged(Tracker(Stage(40, 0, 2)))[0].endswith("about 0 B of 3.0 GB, 2 attempts failed")


def test_tasks_without_an_executor() -> None:
    """That none runs is said when it lasts, unless one has failed and will be tried again."""
    idle: set[int] = set()
    counts = [(0, 0), (0, 0), (1, 0), (0, 0), (0, 0), (0, 1)]  # of tasks that run, and that failed
    found = [next(rdd._stages(Tracker(Stage(40, 12, failed, running)), idle)) for running, failed in counts]

    assert [progress.waits for progress in found] == [False, True, False, False, True, False]
    assert str(found[1]).endswith("; none runs: Spark waits for an executor with free cores and memory")
    assert "none runs" not in str(found[0])


def test_a_quick_job_logs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that ends before the first line is due has none."""
    monkeypatch.setattr(rdd, "REPORT_S", 60.0)
    assert logged(Tracker(Stage(1, 0)), 0.05) == []


def test_a_spark_that_died_is_silent() -> None:
    """The job's own error says so."""

    class Dead(Tracker):
        def getActiveStageIds(self) -> list[int]:  # noqa: N802
            raise ConnectionRefusedError

    assert logged(Dead(), 0.1) == []


def test_an_engine_without_spark_reports_too() -> None:
    """After each item."""
    lines: list[str] = []
    driver = Driver(
        submission=Submission(spec_uri="", spec_hash=""), engine=InProcessEngine(), observer=LogObserver(lines.append)
    )

    both = portions(2, 2)

    assert driver._run_tasks("feed f window w", lambda item, attempt: (item, attempt), both, verb="read") == [
        (both[0], 0),
        (both[1], 1),
    ]
    assert lines == ["read 1 of 2 tasks, about 2 B of 4 B", "read 2 of 2 tasks, about 4 B of 4 B"]


def test_what_tasks_have_read_is_logged() -> None:
    """Once it is known, instead of a guess; bad records are counted."""
    found = Progress(what="read", done=1, total=4, size=4000, tally=Tally(2, 1234, 0, 1500))

    assert str(found) == "read 1 of 4 tasks, 1.5 kB of 4.0 kB, 1,234 records"
    bad = replace(found, tally=replace(found.tally, bad_records=3), failed=1)
    assert str(bad).endswith("1,234 records, 3 bad, 1 attempts failed")


def test_lines_keep_their_distance() -> None:
    """The first line is logged, and the next one only after some time."""
    lines: list[str] = []
    observer = LogObserver(lines.append, every_s=60)
    for done in range(3):
        observer.progress(Progress(done=done, total=3))

    assert len(lines) == 1
