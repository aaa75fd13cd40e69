"""The protocol of engines: an engine runs the tasks of a job, and knows nothing about blocks, records or files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias, TypeVar

from airflow_provider_blockread.exchange.progress import Application
from airflow_provider_blockread.observer import Progress, Tally

Item = TypeVar("Item")
Answer = TypeVar("Answer")

#: Works on an item. The number identifies the attempt: no other attempt of the application has it.
Task: TypeAlias = Callable[[Item, int], Answer]


class SparkLostError(ConnectionError):
    """Spark's JVM, or the server, is gone; any other `ConnectionError` belongs to the code that raised it."""


#: Returns what the work on an item has read; runs where the item was worked on, or where its answer arrives.
Measure: TypeAlias = Callable[[Answer], Tally]

#: Receives progress from time to time, from any thread.
Report: TypeAlias = Callable[[Progress], None]

#: Seconds between two reports of progress.
REPORT_S = 5.0

#: Seconds that stopping Spark may take when a task is killed: Airflow sends SIGKILL 5 s after SIGTERM.
STOP_S = 3.0


class Engine(Protocol):
    """Runs tasks, one run at a time. Tasks, items and answers are values that can be pickled."""

    @property
    def cores(self) -> int:
        """How many items are worked on at once."""

    @property
    def may_grow(self) -> bool:
        """Whether more cores may become available, as on a cluster whose executors are still starting."""

    @property
    def application(self) -> Application:
        """The application by which people find this work in Spark's own pages."""

    def run(
        self, task: Task[Item, Answer], items: Sequence[Item], *, title: str, report: Report, measure: Measure[Answer]
    ) -> list[Answer]:
        """Run the task for each item; return the answers of the accepted attempts, in the order of the items.

        `title` is for people who watch the engine; `report` gets the sum of what was measured of the attempts accepted
        so far.

        Raises:
            BlockReadError: the error that a task raised, unchanged.
            SparkJobError: when the run failed for another reason, or was cancelled.
            SparkLostError: when the engine itself is gone.
        """

    def session(self, *, title: str, report: Report) -> AbstractContextManager[Any]:
        """Return a context with a `SparkSession`, of which only DataFrames may be used; one context at a time.

        `title` is for people who watch the jobs of the body.

        Raises:
            OptionsError: when the engine has no Spark.
        """

    def cancel(self) -> None:
        """Cancel the current run, or the jobs of the session, if any; can be called from any thread."""
