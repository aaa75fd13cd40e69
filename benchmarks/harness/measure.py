"""Alternate measurements of two contenders, and the rows of the resulting table."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import psutil


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; `met` is None where there is no target."""

    work: str
    rival: str
    ours: str
    ratio: str = ""
    target: str = ""
    met: bool | None = None

    @property
    def verdict(self) -> str:
        """The target and whether it was met."""
        return self.target if self.met is None else f"{self.target}, {'met' if self.met else 'MISSED'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One side of a comparison: `prepare` is not timed, `run` is."""

    prepare: Callable[[], None]
    run: Callable[[], None]


@dataclass(slots=True)
class Times:
    """The cost of each timed run: elapsed seconds, and processor seconds of all cores, JVM and workers included."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The shortest run: other load can only lengthen a run."""
        return min(self.seconds)

    def add(self, work: Callable[[], None]) -> None:
        """Run the work and record its cost, after a sync of earlier writes to disk."""
        os.sync()
        started, used = time.perf_counter(), cpu_seconds()
        work()
        self.seconds.append(time.perf_counter() - started)
        self.cpu_seconds.append(cpu_seconds() - used)

    def show(self, amount: float, unit: str) -> str:
        """Return best and median seconds, the rate of the best run, and the least processor time."""
        median, cpu = statistics.median(self.seconds), min(self.cpu_seconds)
        return f"{self.best:.2f} s (median {median:.2f}; cpu {cpu:.2f}), {amount / self.best:,.0f} {unit}/s"


def cpu_seconds() -> float:
    """Return the processor time of this process and its descendants so far."""
    total = 0.0
    for process in (own := psutil.Process(), *own.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            used = process.cpu_times()
            total += used.user + used.system + used.children_user + used.children_system
    return total


def alternate(rival: Contender, ours: Contender, rounds: int) -> tuple[Times, Times]:
    """Return the times of both, run alternately after one untimed run each."""
    times = Times(), Times()
    for number in range(rounds + 1):
        for contender, of_it in zip((rival, ours), times, strict=True):
            contender.prepare()
            (of_it if number else Times()).add(contender.run)
    return times


def ratio_row(work: str, both: tuple[Times, Times], amount: tuple[float, str], *, at_least: float | None = None) -> Row:
    """Return a row with the ratio of our speed to the rival's; `amount` says how much work was done."""
    rival, ours = both
    ratio = rival.best / ours.best
    return Row(
        work=work,
        rival=rival.show(*amount),
        ours=ours.show(*amount),
        ratio=f"{ratio:.2f} x (cpu {min(rival.cpu_seconds) / min(ours.cpu_seconds):.2f})",
        target="" if at_least is None else f">= {at_least:g} x",
        met=None if at_least is None else ratio >= at_least,
    )


def limit_row(work: str, times: Times, limit: float, *, rival: str = "") -> Row:
    """Return a row whose target is a number of seconds."""
    ours = f"{times.best:.2f} s (median {statistics.median(times.seconds):.2f})"
    return Row(work=work, rival=rival, ours=ours, target=f"< {limit:g} s", met=times.best < limit)


def as_table(rows: list[Row]) -> str:
    """Return rows as a Markdown table with aligned columns."""
    heads = ("work", "Spark's own way", "blockread", "ratio", "target")
    cells = [heads, *((r.work, r.rival, r.ours, r.ratio, r.verdict) for r in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    return "\n".join(lines)
