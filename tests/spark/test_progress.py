"""What a driver tells people while its tasks run."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from airflow_provider_blockread.spark import progress
from airflow_provider_blockread.spark.progress import logging_progress


@dataclass(frozen=True)
class Stage:
    """What Spark tells of a stage."""

    numTasks: int  # noqa: N815 - Spark's name
    numCompletedTasks: int  # noqa: N815
    numFailedTasks: int = 0  # noqa: N815


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


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell every hundredth of a second."""
    monkeypatch.setattr(progress, "INTERVAL_S", 0.01)


def first_line(tracker: object) -> str:
    """Return the first line that is told of a job of 3 GB."""
    lines: list[str] = []
    with logging_progress(lines.append, tracker, "read", 3 * 10**9):
        deadline = time.monotonic() + 10
        while not lines and time.monotonic() < deadline:
            time.sleep(0.01)
    return lines[0]


def test_progress_is_told() -> None:
    """How many tasks are done, how much that is, and whether attempts failed."""
    assert first_line(Tracker(None, Stage(40, 12))) == "read 12 of 40 tasks, about 900.0 MB of 3.0 GB"
    assert first_line(Tracker(Stage(40, 0, 2))).endswith("about 0 B of 3.0 GB, 2 attempts failed")


def test_nothing_is_told_of_what_is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job that ends before the first line is due has none."""
    monkeypatch.setattr(progress, "INTERVAL_S", 60.0)
    lines: list[str] = []
    with logging_progress(lines.append, Tracker(Stage(1, 0)), "read", 1):
        pass
    assert lines == []


def test_a_spark_that_died_is_silent() -> None:
    """The job's own error says so."""

    class Dead(Tracker):
        def getActiveStageIds(self) -> list[int]:  # noqa: N802
            raise ConnectionRefusedError

    lines: list[str] = []
    with logging_progress(lines.append, Dead(), "read", 1):
        time.sleep(0.1)
    assert lines == []
