"""Tasks as partitions of a DataFrame, in a session of a Spark Connect server."""

from __future__ import annotations

import os
import pickle
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.exchange.progress import Application
from airflow_provider_blockread.exchange.seals import new_secret
from airflow_provider_blockread.observer import Progress, Tally
from airflow_provider_blockread.spark.engines.answers import answer_from
from airflow_provider_blockread.spark.engines.context import attempt_id, quiet_session
from airflow_provider_blockread.spark.engines.protocol import (
    REPORT_S,
    Answer,
    Item,
    Measure,
    Report,
    SparkLostError,
    Task,
)
from airflow_provider_blockread.spark.engines.reporting import as_own_error, own_errors_as_text
from airflow_provider_blockread.spark.engines.session import is_lost
from airflow_provider_blockread.spark.engines.settings import is_local

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

_ANSWERS = "number bigint, rest bigint, answer binary"
_CHUNK = 2**20  # bytes of an answer in one row: below every limit for messages
_MODE = "SPARK_CONNECT_MODE_ENABLED"  # makes functions of pyspark.sql return objects of Spark Connect
_REMOTE = "SPARK_REMOTE"  # an address
_PARTITIONS = "spark.sql.leafNodeDefaultParallelism"  # of a DataFrame made of rows


class ConnectEngine:
    """An `Engine` in a session that runs nothing else; `tag` names its operations for people and for `cancel`."""

    def __init__(self, session: SparkSession, tag: str) -> None:
        self.connected = session
        self.tag = tag
        self._cancelled = False

    @cached_property
    def cores(self) -> int:
        """How many items are worked on at once: the number of parts of a range in the server's plan."""
        frame: Any = self.connected.range(2)
        plan = frame._explain_string()  # noqa: SLF001 - explain() only prints
        splits = re.search(r"splits=(?:Some\()?(\d+)", plan)
        return int(splits[1]) if splits else 1

    @cached_property
    def may_grow(self) -> bool:
        """Whether more executors may become available."""
        return not is_local(str(self.connected.conf.get("spark.master", "")))

    @cached_property
    def application(self) -> Application:
        """The id of the server's own application, without the address of its pages, which a client cannot find."""
        with suppress(Exception):  # only people use it
            return Application(id=str(self.connected.conf.get("spark.app.id", "")))
        return Application()

    def run(
        self, task: Task[Item, Answer], items: Sequence[Item], *, title: str, report: Report, measure: Measure[Answer]
    ) -> list[Answer]:
        """Run the task for each item and return the answers of the attempts that Spark accepted."""
        del title  # the tag names the jobs
        if not items:
            return []
        self._cancelled = False
        secret = new_secret()  # seals what tasks report; it is only in their closure
        answers: dict[int, Answer] = {}
        read = Tally()
        try:
            with self._reporting(lambda found: report(replace(found, tally=read))):
                for number, answer in self._answers(partial(_work, task, secret), items):
                    answers[number] = answer
                    read = read.plus(measure(answer))
        except Exception as error:
            if self._cancelled:
                msg = "the run was cancelled; retry to start again"
                raise SparkJobError(msg) from error
            if is_lost(error):
                raise SparkLostError(str(error)) from error
            raise as_own_error(error, secret) from error
        return [answers[number] for number in range(len(items))]

    def _answers(
        self, work: Callable[..., Iterator[pa.RecordBatch]], items: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Yield each item's number and answer as they arrive; each item is a separate partition.

        The server sends partitions in order, so an answer waits for those before it.
        """
        session = self.connected
        rows = pa.table(
            {
                "number": pa.array(range(len(items)), pa.int64()),
                "item": pa.array([pickle.dumps(item) for item in items], pa.binary()),
            }
        )
        session.addTag(self.tag)  # for this thread's operations
        parts: list[bytes] = []
        with self._partitions(len(items)):
            for number, rest, part in session.createDataFrame(rows).mapInArrow(work, _ANSWERS).toLocalIterator():
                parts.append(bytes(part))
                if not rest:
                    yield number, answer_from(b"".join(parts))
                    parts.clear()

    @contextmanager
    def _partitions(self, count: int) -> Iterator[None]:
        """Give a DataFrame in the body so many partitions; those of the user have their own number of them again."""
        conf, is_there = self.connected.conf, True
        before = conf.get(_PARTITIONS, None)
        conf.set(_PARTITIONS, count)
        try:
            yield
        except Exception as error:
            is_there = not is_lost(error)
            raise
        finally:
            if is_there and before is None:
                conf.unset(_PARTITIONS)
            elif is_there:
                conf.set(_PARTITIONS, str(before))

    @contextmanager
    def session(self, *, title: str, report: Report) -> Iterator[SparkSession]:
        """Yield the session, with which functions of `pyspark.sql` work as with any other session."""
        del title  # the tag names the jobs
        quiet_session()
        self.connected.addTag(self.tag)  # for this thread's operations
        with _usual(self.connected), self._reporting(report):
            yield self.connected

    def cancel(self) -> None:
        """Cancel the run; if the server is gone, nothing is running."""
        self._cancelled = True
        with suppress(Exception):
            self.connected.interruptTag(self.tag)

    @contextmanager
    def _reporting(self, report: Report) -> Iterator[None]:
        """Report the progress of the run in the body every `REPORT_S` seconds."""
        due, is_idle = time.monotonic() + REPORT_S, False  # without a running task, and perhaps about to start some

        def handle(*, stages: Iterable[Any], inflight_tasks: int, operation_id: str | None, done: bool) -> None:
            nonlocal due, is_idle
            del operation_id
            if done or time.monotonic() < due:
                return
            due = time.monotonic() + REPORT_S
            waits, is_idle = is_idle and not inflight_tasks, not inflight_tasks
            for stage in stages:
                if stage.num_tasks and not stage.done:
                    report(Progress(done=stage.num_completed_tasks, total=stage.num_tasks, waits=waits))

        handler: Any = handle
        self.connected.registerProgressHandler(handler)
        try:
            yield
        finally:
            self.connected.removeProgressHandler(handler)


@contextmanager
def _usual(session: SparkSession) -> Iterator[None]:
    """Make a session the one that `SparkSession.builder` and functions of `pyspark.sql` find, in any thread."""
    kind: Any = type(session)
    client: Any = session.client
    # Without an address, `SparkSession.builder` fails before it looks for a session; this one has no token.
    own = {_MODE: "1", _REMOTE: f"sc://{client._builder.endpoint}"}  # noqa: SLF001
    before = {name: os.environ.pop(name, None) for name in own}
    active, default = getattr(kind._active_session, "session", None), kind._default_session  # noqa: SLF001
    os.environ.update(own)
    kind._active_session.session = kind._default_session = session  # noqa: SLF001
    try:
        yield
    finally:
        kind._active_session.session, kind._default_session = active, default  # noqa: SLF001
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def _work(task: Task[Item, Answer], secret: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Work on the item of a partition and yield its answer in parts; runs on executors."""
    for batch in batches:
        [number], [item] = batch["number"].to_pylist(), batch["item"].to_pylist()
        with own_errors_as_text(secret):
            given = pickle.loads(item)  # noqa: S301 - from the driver
            answer = pickle.dumps(task(given, attempt_id()))
        for start in range(0, len(answer), _CHUNK):
            rest = max(len(answer) - start - _CHUNK, 0)  # bytes that follow
            part = {"number": [number], "rest": [rest], "answer": [answer[start : start + _CHUNK]]}
            yield pa.RecordBatch.from_pydict(part)
