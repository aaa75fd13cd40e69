"""What steps and drivers report while they work: lines for people, progress and counts.

Each of them gets one observer. Logs, metrics and pages are observers, so steps do not know who reads their reports.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import astuple, dataclass, field
from operator import add

from airflow_provider_blockread.errors import printable
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural

#: Seconds between two progress lines in a log, or on a terminal.
LOG_S = 15.0


@dataclass(frozen=True, slots=True)
class Tally:
    """What finished tasks have read; used only for display."""

    blocks: int = 0
    records: int = 0
    bad_records: int = 0
    bytes: int = 0  # of the source, in these blocks

    def plus(self, other: Tally) -> Tally:
        """Return the sum of both tallies."""
        return Tally(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How many tasks of a piece of work are done.

    Args:
        done: number of finished tasks.
        total: number of all tasks, at least one.
        failed: number of failed attempts at tasks; each task is tried again.
        waits: whether no task runs, though some are left.
        what: what the tasks do, such as `read`.
        size: bytes of all tasks together, shared about evenly.
        tally: what the finished tasks have read, if they read blocks.
    """

    done: int
    total: int
    failed: int = 0
    waits: bool = False
    what: str = ""
    size: int = 0
    tally: Tally = field(default_factory=Tally)

    def __str__(self) -> str:
        found = self.tally
        if found.blocks:
            done = f"{format_bytes(found.bytes)} of {format_bytes(self.size)}, {found.records:,} records"
        else:
            done = f"about {format_bytes(self.size * self.done / self.total)} of {format_bytes(self.size)}"
        bad = f", {found.bad_records:,} bad" if found.bad_records else ""
        failed = f", {self.failed:,} attempts failed" if self.failed else ""
        waits = "; none runs: Spark waits for an executor with free cores and memory" if self.waits else ""
        return f"{self.what} {self.done:,} of {plural(self.total, 'task')}, {done}{bad}{failed}{waits}"


class Observer:
    """Receives reports, from any thread, and ignores them all; subclasses override what they need."""

    def log(self, message: str) -> None:
        """Receive a line about what happens."""

    def warn(self, message: str) -> None:
        """Receive a line about something that needs attention."""

    def progress(self, progress: Progress) -> None:
        """Receive the progress of some work; each report replaces the previous one."""

    def details(self, title: str, lines: Iterable[str]) -> None:
        """Receive detailed lines, which people read only when they need them."""

    def count(self, name: str, number: float) -> None:
        """Receive a number to add to a counter; docs/metrics.md lists the names of all metrics."""

    def gauge(self, name: str, number: float) -> None:
        """Receive a number that replaces the previous one."""

    def took(self, name: str, seconds: float) -> None:
        """Receive how long something took."""


class LogObserver(Observer):
    """Passes on lines, made printable whatever the names in them contain; counts are ignored.

    Args:
        log: takes lines about what happens, and progress.
        warn: takes lines about what needs attention; default: `log`.
        every_s: minimum number of seconds between two progress lines.
    """

    def __init__(
        self, log: Callable[[str], object], warn: Callable[[str], object] | None = None, *, every_s: float = 0.0
    ) -> None:
        self._log, self._warn = log, warn or log
        self._every_s, self._due = every_s, 0.0

    def log(self, message: str) -> None:
        """Pass on the line."""
        self._log(printable(message))

    def warn(self, message: str) -> None:
        """Pass on the line."""
        self._warn(printable(message))

    def progress(self, progress: Progress) -> None:
        """Pass on the progress as a line, unless the previous line is too recent."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + self._every_s
            self.log(str(progress))
