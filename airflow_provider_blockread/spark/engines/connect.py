"""Tasks as partitions of a DataFrame: in a session of a Spark Connect server."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_blockread.errors import SparkJobError
from airflow_provider_blockread.exchange.seals import new_secret
from airflow_provider_blockread.observer import Progress
from airflow_provider_blockread.spark.engines.answers import answer_from, as_bytes
from airflow_provider_blockread.spark.engines.protocol import Answer, Item, SparkLostError, Task
from airflow_provider_blockread.spark.engines.reporting import as_own_error, own_errors_as_text
from airflow_provider_blockread.spark.engines.session import cores_of, is_lost
from airflow_provider_blockread.spark.engines.settings import is_local

if TYPE_CHECKING:
    from pyspark.sql.connect.session import SparkSession

INTERVAL_S = 15.0  # between two reports

_ANSWERS = "number bigint, answer binary"
_CHUNK = 2**20  # bytes of an answer in one row: below each limit of a message
_MODE = "SPARK_CONNECT_MODE_ENABLED"  # lets functions of pyspark.sql return what Spark Connect takes
_PARTITIONS = "spark.sql.leafNodeDefaultParallelism"  # of a DataFrame made of rows


class ConnectEngine:
    """An `Engine` in a session that runs nothing else; `tag` names its operations for people and for `cancel`."""

    def __init__(self, session: SparkSession, tag: str) -> None:
        self.connected = session
        self.tag = tag
        self._cancelled = False

    @cached_property
    def cores(self) -> int:
        """How many items are worked on at once, as the server was when it was asked."""
        return cores_of(self.connected)

    @cached_property
    def may_grow(self) -> bool:
        """Whether more executors may come."""
        return not is_local(str(self.connected.conf.get("spark.master", "")))

    def run(
        self, task: Task[Item, Answer], items: Sequence[Item], *, title: str, report: Callable[[Progress], None]
    ) -> list[Answer]:
        """Run the task for each item and return the answers of the attempts that Spark accepted."""
        if not items:
            return []
        self._cancelled = False
        secret = new_secret()  # seals what tasks report; it travels in their closure, and nowhere else
        try:
            with self._reporting(report):
                found = self._collect(partial(_work, task, secret), items)
        except Exception as error:
            if self._cancelled:
                msg = f"{title} was cancelled; retry to start again"
                raise SparkJobError(msg) from error
            if is_lost(error):
                raise SparkLostError(str(error)) from error
            raise as_own_error(error, secret) from error
        return [answer_from(b"".join(found[number])) for number in range(len(items))]

    def _collect(self, work: Callable[..., Iterator[pa.RecordBatch]], items: Sequence[Any]) -> dict[int, list[bytes]]:
        """Return the parts of each item's answer; each item is a partition of its own."""
        session = self.connected
        rows = pa.table(
            {
                "number": pa.array(range(len(items)), pa.int64()),
                "item": pa.array([pickle.dumps(item) for item in items], pa.binary()),
            }
        )
        session.addTag(self.tag)  # of this thread's operations
        session.conf.set(_PARTITIONS, len(items))
        answers = session.createDataFrame(rows).mapInArrow(work, _ANSWERS).toArrow()
        session.conf.unset(_PARTITIONS)  # for DataFrames of the user
        found: dict[int, list[bytes]] = {}
        for batch in answers.to_batches():
            for number, part in zip(batch["number"].to_pylist(), batch["answer"].to_pylist(), strict=True):
                found.setdefault(number, []).append(part)
        return found

    @contextmanager
    def session(self, *, title: str, report: Callable[[Progress], None]) -> Iterator[SparkSession]:
        """Yield the session, on which functions of `pyspark.sql` work as they do on any other."""
        del title  # the tag names the jobs
        self.connected.addTag(self.tag)  # of this thread's operations
        active = type(self.connected)._active_session  # noqa: SLF001 - where `udf` parses the type that it returns
        before, active_before = os.environ.get(_MODE), getattr(active, "session", None)
        os.environ[_MODE], active.session = "1", self.connected
        try:
            with self._reporting(report):
                yield self.connected
        finally:
            active.session = active_before
            if before is None:
                del os.environ[_MODE]

    def cancel(self) -> None:
        """Cancel the run; where the server is gone, nothing is running."""
        self._cancelled = True
        with suppress(Exception):
            self.connected.interruptTag(self.tag)

    @contextmanager
    def _reporting(self, report: Callable[[Progress], None]) -> Iterator[None]:
        """Report every `INTERVAL_S` seconds how far the run in the body is."""
        due = time.monotonic() + INTERVAL_S

        def handle(*, stages: Iterable[Any], inflight_tasks: int, operation_id: str | None, done: bool) -> None:
            nonlocal due
            del inflight_tasks, operation_id
            if done or time.monotonic() < due:
                return
            due = time.monotonic() + INTERVAL_S
            for stage in stages:
                if stage.num_tasks and not stage.done:
                    report(Progress(done=stage.num_completed_tasks, total=stage.num_tasks))

        handler: Any = handle
        self.connected.registerProgressHandler(handler)
        try:
            yield
        finally:
            self.connected.removeProgressHandler(handler)


def _work(task: Task[Item, Answer], secret: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Work on the item of a partition and yield its answer in parts; runs on executors."""
    from pyspark import TaskContext  # noqa: PLC0415 - only a task has one

    context = TaskContext.get()
    for batch in batches:
        [number], [item] = batch["number"].to_pylist(), batch["item"].to_pylist()
        with own_errors_as_text(secret):
            given = pickle.loads(item)  # noqa: S301 - of the driver
            answer = as_bytes(task(given, context.taskAttemptId() if context else 0))
        for start in range(0, len(answer), _CHUNK):
            yield pa.RecordBatch.from_pydict({"number": [number], "answer": [answer[start : start + _CHUNK]]})
