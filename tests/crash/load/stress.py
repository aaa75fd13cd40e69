"""Many processes, many windows, random deaths: python -m tests.crash.load.stress --windows 200 --processes 8 --seed 1.

Workers run whichever window is not published yet, each by the steps that operators call, on one PostgreSQL. They are
killed, or stopped and woken up later, at random; a new one takes a dead one's place, under its name or another. In the
end the published records are counted. Time passes a hundred times as fast as outside, so that heartbeats grow stale.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from multiprocessing.process import BaseProcess
from pathlib import Path

from sqlalchemy import select

from airflow_provider_blockread.errors import ConflictError
from airflow_provider_blockread.ledger.schema.tables import feeds, generations, windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.options import Lines, Policies, Selection, SparkJob
from airflow_provider_blockread.options.plan import Limits
from tests.crash.doomed import Doomed, strays
from tests.crash.forks import FORKS
from tests.crash.server import quick_folder
from tests.postgres import new_schema, postgres_server

_FEEDS = 5
_FILES = 3  # a window
_RECORDS = 4  # a file
_SPEED = 100.0  # times as fast as outside
_STEP_S = 0.03  # between two blows
_SLEEP_S = 3.0  # of those that are stopped
_CONFLICTS = {kind.__name__ for kind in (ConflictError, *ConflictError.__subclasses__())}


@dataclass
class _Hasty(Doomed):
    """A feed on a fast clock, of plain lines."""

    began: float = 0.0
    record_format: Lines = Lines()
    policies: Policies = Policies()
    selection: Selection = Selection(limits=Limits(max_files=_FILES))
    block_size: int = 2**20
    group_bytes: int = 16

    def __post_init__(self) -> None:
        """Let heartbeats be about as frequent, to that clock, as in earnest."""
        super().__post_init__()
        self.job = SparkJob(heartbeat_s=0.2, stale_after_s=120.0)

    @property
    def time(self) -> datetime:
        """The present."""
        return datetime.fromtimestamp(self.began + (time.time() - self.began) * _SPEED, UTC)

    @time.setter
    def time(self, _: datetime) -> None:
        """Nobody sets it."""


@dataclass(kw_only=True)
class Figures:
    """What the stress came to."""

    windows: int
    published: int = 0
    kills: int = 0
    stops: int = 0
    conflicts: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    records: int = 0
    lost: int = 0
    doubled: int = 0
    strays: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return a line for people."""
        counted = ", ".join(f"{count} {name}" for name, count in sorted(self.conflicts.items())) or "none"
        return (
            f"{self.published} of {self.windows} windows published in {self.seconds:.1f} s; {self.kills} kills,"
            f" {self.stops} stops; conflicts: {counted}; other errors: {len(self.errors)}; records checked"
            f" {self.records}, lost {self.lost}, doubled {self.doubled}, stray files {self.strays}"
        )

    @property
    def sound(self) -> bool:
        """Whether all is published, each record once, and nobody ended but by a conflict."""
        wrong = (self.lost, self.doubled, self.strays, len(self.errors), self.windows - self.published)
        return not any(wrong)


@dataclass
class Stress:
    """One run."""

    folder: Path
    url: str
    windows: int
    processes: int
    seed: int
    deadline_s: float = 600.0

    def __post_init__(self) -> None:
        """Let files land, for every window its own number of them."""
        self.random = random.Random(self.seed)
        self.figures = Figures(windows=self.windows)
        self.began = time.time()
        self.keys = {(f"feed{n % _FEEDS}", f"w{n // _FEEDS:04d}") for n in range(self.windows)}
        self.truth: dict[str, list[str]] = {f"feed{n}": [] for n in range(_FEEDS)}
        for feed in self.truth:
            (self.folder / feed / "in").mkdir(parents=True)
            for number in range(_FILES * sum(name == feed for name, _ in self.keys)):
                lines = [f"{feed}-{number}-{i}" for i in range(_RECORDS)]
                self.truth[feed] += lines
                (self.folder / feed / "in" / f"{number:05d}.txt").write_text("\n".join(lines) + "\n", "utf-8")
        (self.folder / "windows.txt").write_text("".join(f"{f} {key}\n" for f, key in sorted(self.keys)), "utf-8")

    def run(self) -> Figures:
        """Strike until every window is published, then count."""
        living: list[BaseProcess] = []
        asleep: dict[int, float] = {}
        started = time.monotonic()
        while time.monotonic() - started < self.deadline_s and not self._all_published():
            living = [process for process in living if process.is_alive()]
            while len(living) < self.processes:
                living.append(self._worker())
            time.sleep(_STEP_S)
            self._strike(self.random.choice(living), asleep)
        self.figures.seconds = time.monotonic() - started
        for process in living:
            with suppress(ProcessLookupError):
                os.kill(process.pid or 0, signal.SIGCONT)
        for process in living:
            process.join(30)
        self._count()
        return self.figures

    def _worker(self) -> BaseProcess:
        name = f"worker-{self.random.randrange(2 * self.processes)}"  # of a living one, of a dead one, or a new one
        arguments = (self.folder, self.url, self.began, name, self.random.random())
        process = FORKS.Process(target=work, args=arguments, daemon=True)
        process.start()
        return process

    def _strike(self, victim: BaseProcess, asleep: dict[int, float]) -> None:
        """Kill, or put to sleep; wake up those that have slept."""
        now = time.monotonic()
        for pid in [pid for pid, since in asleep.items() if now - since > _SLEEP_S]:
            del asleep[pid]
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        blow = self.random.random()
        pid = victim.pid or 0
        with suppress(ProcessLookupError):
            if blow < 0.15:
                os.kill(pid, signal.SIGKILL)
                self.figures.kills += 1
            elif blow < 0.2 and len(asleep) < self.processes // 2:
                os.kill(pid, signal.SIGSTOP)
                asleep[pid] = now
                self.figures.stops += 1

    def _all_published(self) -> bool:
        return len(published(self.url, self.keys)) == self.windows

    def _count(self) -> None:
        figures = self.figures
        figures.published = len(published(self.url, self.keys))
        for feed, truth in self.truth.items():
            pipe = _Hasty(folder=self.folder / feed, url=self.url, began=self.began)
            found = Counter(row["value"] for row in pipe.rows())
            figures.records += sum(found.values())
            figures.lost += sum(found[value] == 0 for value in truth)
            figures.doubled += sum(count > 1 for count in found.values())
            figures.strays += len(strays(pipe))
            pipe.close()
        for report in self.folder.glob("*.report"):
            for line in report.read_text("utf-8").splitlines():
                if line.partition(":")[0] in _CONFLICTS:
                    figures.conflicts[line.partition(":")[0]] += 1
                else:
                    figures.errors.append(line)


def work(folder: Path, url: str, began: float, name: str, seed: float) -> None:
    """Run windows that are not published yet, one after another, until all are; every error is written down."""
    chance = random.Random(seed)
    pipes: dict[str, _Hasty] = {}
    keys = planned_keys(folder)
    with (folder / f"{os.getpid()}.report").open("a", encoding="utf-8") as report:
        while left := sorted(keys - published(url, keys)):
            feed, key = chance.choice(left)
            pipe = pipes.get(feed) or _Hasty(folder=folder / feed, url=url, began=began)
            pipes[feed] = pipe
            pipe.owner = chance.choice([name, f"the task of {feed} {key}"])
            try:
                pipe.run(key)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
                text = str(error).replace("\n", " ")
                report.write(f"{type(error).__name__}: {text}\n")
                report.flush()


def planned_keys(folder: Path) -> set[tuple[str, str]]:
    """Return feed and key of every window that is to be published."""
    lines = (folder / "windows.txt").read_text("utf-8").splitlines()
    return {(line.split()[0], line.split()[1]) for line in lines}


def published(url: str, keys: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return those of the windows that are published."""
    query = select(feeds.c.name, windows.c.key).join(windows, windows.c.feed_id == feeds.c.id)
    query = query.join(generations, generations.c.window_id == windows.c.id).where(generations.c.state == "published")
    with _ledger(url).reading() as connection:
        return {(row[0], row[1]) for row in connection.execute(query)} & keys


@cache
def _ledger(url: str) -> Ledger:
    return Ledger(url)


def main(arguments: list[str] | None = None) -> int:
    """Run the stress and print its figures; 1 where a record was lost or doubled, or an error was no conflict."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash.load.stress", description=__doc__)
    parser.add_argument("--windows", type=int, default=200)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED", "1")))
    parser.add_argument("--seconds", type=float, default=900.0, help="give up after so long")
    options = parser.parse_args(arguments)
    with quick_folder() as folder, postgres_server() as server:
        url = new_schema(server, "stress")
        stress = Stress(folder=folder, url=url, windows=options.windows, processes=options.processes, seed=options.seed)
        stress.deadline_s = options.seconds
        figures = stress.run()
    print(figures)
    print("\n".join(figures.errors[:20]), end="\n" if figures.errors else "")
    return 0 if figures.sound else 1


if __name__ == "__main__":
    sys.exit(main())
