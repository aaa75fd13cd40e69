"""A ledger with a past: feeds that are healthy, behind, at work and failing, read for real in this process."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.groups import claim_group, record_progress
from airflow_provider_blockread.observer import Observer, Tally
from airflow_provider_blockread.options import (
    Csv,
    FileSource,
    FormatOption,
    GenerationOptions,
    JsonLines,
    Limits,
    Lines,
    ParquetSink,
    Policies,
    Selection,
    SparkJob,
    Splitting,
)
from airflow_provider_blockread.spark.driver import Driver
from airflow_provider_blockread.spark.engines.in_process import InProcessEngine
from airflow_provider_blockread.steps import Caller, Environment, PlanRequest, WindowRef, commit, plan, read
from airflow_provider_blockread.storage.stores import Stores

FEEDS = ("clicks", "logs", "orders")
"""Each is read by a DAG of its name, in a task group of its name."""

_HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)
_LINES = 2000  # of the text that files repeat
_BEGIN_S, _SPEED = 0.4, 90e6  # of a read: seconds before it begins, and bytes a second, as the clock has it
_AT_WORK_S = 86_400.0
_BAD = '4711,"Miller, Ann",{at:%Y-%m-%d %H:%M:%S},n/a,"2 boxes, ""fragile"""\n'


class _Here:
    """Runs jobs in this process, without Spark, in a time that the clock is told."""

    keeps_secrets = True

    def __init__(self, past: Past, size: float) -> None:
        self._past, self._size = past, size

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run a job to its end."""
        del name
        self._past.time += timedelta(seconds=_BEGIN_S + self._size / _SPEED)
        Driver(submission=submission, engine=InProcessEngine()).run()

    def cancel(self) -> None:
        """Do nothing: a job ends by itself."""


@dataclass
class Past:
    """A folder with the ledger, the files that land and the lake, and a clock that goes only where it is set to."""

    folder: Path
    now: datetime = field(default_factory=lambda: datetime.now(UTC).replace(microsecond=0))

    def __post_init__(self) -> None:
        self.time = self.now
        self.dice = random.Random(15)  # noqa: S311 - not a secret
        self.ledger = Ledger(f"sqlite:///{self.folder / 'ledger.db'}", now=lambda: self.time)
        self.ledger.upgrade()
        self.env = Environment(ledger=self.ledger, stores=Stores(), observer=Observer())
        self.hour = self.now.replace(minute=0, second=0)

    def fill(self, hours: int) -> str:
        """Fill so many hours, until one feed fails, one is behind and at work, and one is healthy.

        Returns the run of `orders` whose window failed.
        """
        schema = "id long, customer string, placed_at timestamp, amount double, note string"
        orders = _Feed(self, "orders", Csv(header=True, schema=schema), head="id,customer,placed_at,amount,note\n")
        clicks = _Feed(self, "clicks", JsonLines(schema="id long, at timestamp, page string"))
        logs = _Feed(self, "logs", Lines())
        late = 5
        for back in range(hours, 0, -1):
            at = self.hour - back * _HOUR
            logs.publish(at, files=2)
            bad = back == 1 or self.dice.random() < 0.1  # noqa: PLR2004 - one in ten
            orders.publish(at, files=3, bad=bad, again=back == 7)  # noqa: PLR2004 - once
            if back > late:
                clicks.publish(at, files=4)
        clicks.begin(self.hour - late * _HOUR, files=8, waiting=150)
        failed = orders.fail(self.hour)
        self.time = self.now
        self.ledger.close()
        return failed


@dataclass
class _Feed:
    past: Past
    name: str
    record_format: FormatOption
    head: str = ""

    @property
    def _source(self) -> Path:
        return self.past.folder / "landing" / self.name

    def publish(self, at: datetime, *, files: int, bad: bool = False, again: bool = False) -> None:
        """Let files land and publish them, or twice; all but those of the last hour are cleared away then."""
        for number in range(files):
            self._land(at, number, bad=bad and number == 1)
        for clear_number in range(1 + again):
            self.past.time = at + timedelta(seconds=4) + 20 * clear_number * _MINUTE
            ref = self._plan(at, clear_number=clear_number)
            self._read(ref, at, range(ref.groups), clear_number)
            self.past.time += timedelta(seconds=1)
            commit(self.past.env, ref, owner=self._task(at, "commit"))
        if at < self.past.hour - _HOUR:
            for path in self._source.rglob("*.*"):
                path.unlink()

    def fail(self, at: datetime) -> str:
        """Let a file land that fails its window, and return the run."""
        self._land(at, 0)
        self._land(at, 1, bad=True)
        self.past.time = at + timedelta(seconds=4)
        ref = self._plan(at, policies=Policies())
        with suppress(RecordError):
            self._read(ref, at, range(ref.groups))
        return self._run(at)

    def begin(self, at: datetime, *, files: int, waiting: int) -> None:
        """Begin to read a window of some files, a group each, while others wait."""
        for number in range(files):
            self._land(at, number, size=60)
        for number in range(waiting):
            self._land(at + 2 * number * _MINUTE, files + number, size=self.past.dice.uniform(2, 9))
        self.past.time = self.past.now - timedelta(seconds=40)
        selection = Selection(limits=Limits(max_files=files))
        ref = self._plan(at, selection=selection, splitting=Splitting(group_bytes=1))
        self._read(ref, at, range(3))
        self.past.time = self.past.now - timedelta(seconds=12)
        group = GroupRef(window=ref.window, generation=1, group=3)
        claim = claim_group(
            self.past.ledger, group, owner=self._task(at, "read", 3), clear_number=0, stale_after_s=_AT_WORK_S
        )
        if claim is not None:
            self.past.time = self.past.now
            ui = "http://spark-worker-2:4040"
            tally = Tally(blocks=1, records=71_340, bytes=5_120_000)
            record_progress(self.past.ledger, claim, tally, application="app-20261122-0042", ui=ui)

    def _land(self, at: datetime, number: int, *, size: float = 0.0, bad: bool = False) -> None:
        """Let a file land: so many times a short text."""
        suffix = {"csv": "csv", "json_lines": "jsonl"}.get(self.record_format.kind, "log")
        path = self._source / f"{at:%Y-%m-%d}" / f"{at:%H%M}-{number:03}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        times = max(int(size or self.past.dice.uniform(10, 40)), 1)
        text = "".join(_line(self.name, line, at) for line in range(_LINES))
        path.write_text(self.head + text * times + _BAD.format(at=at) * bad + text, "utf-8")
        landed = (at - 5 * _MINUTE).timestamp() + number
        os.utime(path, (landed, landed))

    def _plan(
        self,
        at: datetime,
        *,
        clear_number: int = 0,
        policies: Policies = Policies(on_bad_record="quarantine"),
        selection: Selection = Selection(),
        splitting: Splitting = Splitting(block_size="1MiB"),
    ) -> WindowRef:
        sink = ParquetSink(str(self.past.folder / "lake" / self.name))
        request = PlanRequest(
            feed=f"{self.name}.{self.name}",
            key=f"{at:%Y-%m-%dT%H:%M}",
            source=FileSource(str(self._source), pattern="**/*.*"),
            generation=GenerationOptions(record_format=self.record_format, sink=sink, policies=policies),
            owner=self._task(at, "plan"),
            selection=selection,
            splitting=splitting,
            clear_number=clear_number,
            run=self._run(at),
        )
        return WindowRef.from_json(plan(self.past.env, request).to_json())

    def _read(self, ref: WindowRef, at: datetime, groups: Iterable[int], clear_number: int = 0) -> None:
        for group in groups:
            self.past.time += timedelta(seconds=1)
            caller = Caller(owner=self._task(at, "read", group), clear_number=clear_number)
            here = _Here(self.past, ref.bytes / max(ref.groups, 1))
            read(self.past.env, ref, group, caller=caller, job=SparkJob(), submitter=here)

    def _run(self, at: datetime) -> str:
        return f"{self.name}/manual__{at:%Y-%m-%dT%H:%M}"

    def _task(self, at: datetime, step: str, index: int = -1) -> str:
        return f"{self._run(at)}/{self.name}.{step}/{index}"


def _line(feed: str, number: int, at: datetime) -> str:
    """Return a record of a feed."""
    then = at + timedelta(seconds=number)
    if feed == "orders":
        return f'{number},"Meyer, {number % 97}",{then:%Y-%m-%d %H:%M:%S},{number % 400 / 4:.2f},"box {number % 9}"\n'
    if feed == "clicks":
        return f'{{"id": {number}, "at": "{then:%Y-%m-%d %H:%M:%S}", "page": "/item/{number % 371}"}}\n'
    return f'10.0.{number % 9}.{number % 251} - - [{then:%d/%b/%Y:%H:%M:%S}] "GET /item/{number % 371}" 200 {number}\n'
