"""What steps and drivers report while they work: lines for people, progress and counts.

Each of them gets one observer. Logs, metrics and pages are observers, so no step knows who reads its reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from airflow_provider_blockread.errors import printable
from airflow_provider_blockread.options.sizes import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many tasks of some work are done.

    Args:
        done: tasks that are done.
        total: all tasks, at least one.
        failed: attempts at a task that failed; the task is tried again.
        what: what the tasks do, as `read`.
        size: bytes that all tasks share about evenly.
    """

    done: int
    total: int
    failed: int = 0
    what: str = ""
    size: int = 0

    def __str__(self) -> str:
        about = format_bytes(self.size * self.done / self.total)
        failed = f", {self.failed:,} attempts failed" if self.failed else ""
        return f"{self.what} {self.done:,} of {self.total:,} tasks, about {about} of {format_bytes(self.size)}{failed}"


class Observer:
    """Takes reports, from any thread, and ignores them all; others override what they need."""

    def log(self, message: str) -> None:
        """Take a line about what happens."""

    def warn(self, message: str) -> None:
        """Take a line about what needs attention."""

    def progress(self, progress: Progress) -> None:
        """Take how far some work is; each report replaces the one before."""

    def count(self, name: str, number: float) -> None:
        """Take a number to add to a sum: `plan.new_files`, `read.records`, `read.bad_records` or `read.bytes`."""


class LogObserver(Observer):
    """Passes on lines that may be printed, whatever the names in them hold; counts are ignored.

    Args:
        log: takes lines about what happens, and progress.
        warn: takes lines about what needs attention; where there is none, `log` does.
    """

    def __init__(self, log: Callable[[str], object], warn: Callable[[str], object] | None = None) -> None:
        self._log, self._warn = log, warn or log

    def log(self, message: str) -> None:
        """Pass on the line."""
        self._log(printable(message))

    def warn(self, message: str) -> None:
        """Pass on the line."""
        self._warn(printable(message))

    def progress(self, progress: Progress) -> None:
        """Pass on the progress as a line."""
        self.log(str(progress))
