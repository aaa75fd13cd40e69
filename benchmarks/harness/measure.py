"""Alternate measurements of two contenders, and the rows of the resulting table."""

from __future__ import annotations

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import psutil

from airflow_provider_blockread.periodic import repeating

_EVERY_S = 0.01  # between two looks at the memory of processes


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table; `met` is None where there is no target.

    `peers` has the cells of other engines by their names, `floor` what no reader can do without and how far away it is.
    """

    work: str
    rival: str
    ours: str
    ratio: str = ""
    target: str = ""
    met: bool | None = None
    peers: Mapping[str, str] = field(default_factory=dict)
    floor: str = ""

    @property
    def verdict(self) -> str:
        """The target and whether it was met."""
        return self.target if self.met is None else f"{self.target}, {'met' if self.met else 'MISSED'}"


class Timed(Protocol):
    """One side of a comparison."""

    @property
    def prepare(self) -> Callable[[], object]:
        """Does what is not timed, before each run."""

    @property
    def run(self) -> Callable[[], object]:
        """Does what is timed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One side of a comparison, made of functions."""

    run: Callable[[], object]
    prepare: Callable[[], object] = lambda: None


@dataclass(slots=True)
class Times:
    """The cost of each timed run: elapsed seconds, and processor seconds of all cores, JVM and workers included."""

    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """The shortest run: other load can only lengthen a run."""
        return min(self.seconds)

    def add(self, work: Callable[[], object]) -> None:
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


@contextlib.contextmanager
def peak_memory(processes: Callable[[], Iterable[psutil.Process]]) -> Iterator[dict[int, int]]:
    """Give the peak resident memory in the body, in bytes, of each of the processes that there are, by its id."""
    peaks: dict[int, int] = {}

    def sample() -> bool:
        for process in processes():
            with contextlib.suppress(psutil.NoSuchProcess):
                peaks[process.pid] = max(peaks.get(process.pid, 0), process.memory_info().rss)
        return True

    with repeating(sample, every_s=_EVERY_S, name="memory"):
        yield peaks


def alternate(sides: Sequence[Timed], rounds: int) -> tuple[Times, ...]:
    """Return the times of each, run in turns after one untimed run each."""
    times = tuple(Times() for _ in sides)
    for number in range(rounds + 1):
        for side, of_it in zip(sides, times, strict=True):
            side.prepare()
            (of_it if number else Times()).add(side.run)
    return times


def ratio_row(work: str, both: Sequence[Times], amount: tuple[float, str], *, at_least: float | None = None) -> Row:
    """Return a row with the ratio of our speed to the rival's, the first of both; `amount` says how much was done."""
    rival, ours = both
    ratio = rival.best / ours.best
    return Row(
        work=work,
        rival=rival.show(*amount),
        ours=ours.show(*amount),
        ratio=f"{ratio:.2f} x (cpu {min(rival.cpu_seconds) / min(ours.cpu_seconds):.2f})",
        target="" if at_least is None else f">= {at_least:.3g} x",
        met=None if at_least is None else ratio >= at_least,
    )


def beside_others(
    work: str,
    times: Mapping[str, Times],
    amount: tuple[float, str],
    targets: Mapping[str, float],
    floor: Mapping[str, float],
) -> Row:
    """Return a row that compares blockread with Spark and other engines.

    Args:
        work: what was done.
        times: of `Spark`, `blockread` and others, by name.
        amount: how much was done, and its unit.
        targets: the ratios of our speed to that of some of them that are to be reached.
        floor: the seconds that each part of the work takes alone.
    """
    ours = times["blockread"]
    ratios = {name: of_it.best / ours.best for name, of_it in times.items()}
    return replace(
        ratio_row(work, (times["Spark"], ours), amount),
        target=">= " + ", ".join(f"{target:g} x {name}" for name, target in targets.items()),
        met=all(ratios[name] >= target for name, target in targets.items()),
        peers={name: f"{of_it.show(*amount)}: {ratios[name]:.2f} x" for name, of_it in times.items()},
        floor=_beside(ours, floor),
    )


def floor_row(work: str, times: Times, amount: tuple[float, str], floor: Mapping[str, float]) -> Row:
    """Return a row that is compared with its floor alone."""
    return Row(work=work, rival="", ours=times.show(*amount), floor=_beside(times, floor))


def _beside(ours: Times, floor: Mapping[str, float]) -> str:
    parts = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in floor.items())
    return f"{parts}: {ours.best / sum(floor.values()):.1f} x" if floor else ""


def limit_row(work: str, times: Times, limit: float | None, *, rival: str = "") -> Row:
    """Return a row whose target, if there is one, is a number of seconds."""
    ours = f"{times.best:.2f} s (median {statistics.median(times.seconds):.2f})"
    if limit is None:
        return Row(work=work, rival=rival, ours=ours)
    return Row(work=work, rival=rival, ours=ours, target=f"< {limit:.3g} s", met=times.best < limit)
