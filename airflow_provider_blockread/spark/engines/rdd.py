"""Tasks as partitions of an RDD, on the Spark context of an application or of this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from socketserver import TCPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.progress import Application
from airflow_provider_blockread.exchange.seals import new_secret
from airflow_provider_blockread.observer import Progress, Tally
from airflow_provider_blockread.periodic import repeating
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
from airflow_provider_blockread.spark.engines.settings import is_local, most_tasks

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_ZONE = "spark.sql.session.timeZone"


class RddEngine:
    """An `Engine` on a Spark context that runs no other job."""

    def __init__(self, context: SparkContext) -> None:
        self.context = context

    @cached_property
    def _most(self) -> int | None:
        return most_tasks(str(self.context.master), dict(self.context.getConf().getAll()))

    @property
    def cores(self) -> int:
        """How many items are worked on at once, with all executors that the application may get."""
        return self._most or int(self.context.defaultParallelism)

    @property
    def may_grow(self) -> bool:
        """Whether the application may get more executors than its settings say."""
        return self._most is None and not is_local(str(self.context.master))

    @property
    def application(self) -> Application:
        """The application's id, and the address of its live pages unless they are disabled."""
        return Application(id=str(self.context.applicationId), ui=str(self.context.uiWebUrl or ""))

    def run(
        self, task: Task[Item, Answer], items: Sequence[Item], *, title: str, report: Report, measure: Measure[Answer]
    ) -> list[Answer]:
        """Run the task for each item and return the answers of the attempts that Spark accepted."""
        if not items:
            return []
        secret = new_secret()  # seals what tasks report; it is only in their closure
        self.context.setJobDescription(title)
        partitions = self.context.parallelize(items, len(items))
        try:
            # Spark adds up only what accepted attempts have measured, each of them once.
            read: Any = self.context.accumulator(Tally(), _Adding())  # type: ignore[arg-type]
            with _reporting(self.context.statusTracker(), lambda found: report(replace(found, tally=read.value))):
                return partitions.mapPartitions(partial(_work, task, secret, measure, read)).collect()
        except BlockReadError:
            raise
        except Exception as error:
            if isinstance(error, ConnectionError):
                raise SparkLostError(str(error)) from error
            raise as_own_error(error, secret) from error

    @contextmanager
    def session(self, *, title: str, report: Report) -> Iterator[SparkSession]:
        """Yield the Spark SQL session of this context; instants are in UTC unless the user has set a zone."""
        from pyspark.sql import SparkSession  # noqa: PLC0415 - takes seconds, and only some jobs need it

        session = SparkSession.builder.getOrCreate()
        if not self.context.getConf().contains(_ZONE):
            session.conf.set(_ZONE, "UTC")
        quiet_session()
        self.context.setJobDescription(title)
        with _reporting(self.context.statusTracker(), report):
            yield session

    @property
    def is_stopped(self) -> bool:
        """Whether the context has been stopped, possibly by the user's function."""
        return self.context._jsc is None  # noqa: SLF001 - pyspark's own test for it

    def cancel(self) -> None:
        """Cancel the run; if Spark itself has died or was stopped, nothing is running."""
        if self.is_stopped:
            return
        with _alive():
            self.context.setLogLevel("OFF")  # cancelled tasks fail in many ways
            self.context.cancelAllJobs()

    def stop(self) -> None:
        """Stop the context; if Spark itself has died, nothing is left to stop."""
        with _alive(), _ending_later(self.context):
            self.context.stop()


class _Adding:
    """How an accumulator of Spark adds up tallies."""

    def zero(self, _: Tally) -> Tally:
        return Tally()

    def addInPlace(self, left: Tally, right: Tally) -> Tally:  # noqa: N802 - Spark's name
        return left.plus(right)


def _work(
    task: Task[Item, Answer],
    secret: str,
    measure: Measure[Answer],
    read: Any,  # noqa: ANN401 - pyspark's Accumulator
    items: Iterable[Item],
) -> Iterator[Answer]:
    """Work on the items of a partition; runs on executors."""
    for item in items:
        with own_errors_as_text(secret):
            answer = task(item, attempt_id())
        read.add(measure(answer))
        yield answer


@contextmanager
def _alive() -> Iterator[None]:
    """Ignore an error of the body if Spark has died, which the error of its job reports."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark

    with suppress(Py4JError, OSError):
        yield


@contextmanager
def _ending_later(context: SparkContext) -> Iterator[None]:
    """Shut down the context's accumulator server in the background, since it checks for this only once a second."""
    server = getattr(context, "_accumulatorServer", None)
    if not isinstance(server, TCPServer) or isinstance(server.server_address, str):  # a Unix socket's file is removed
        yield
        return
    context._accumulatorServer = None  # type: ignore[assignment]  # noqa: SLF001
    try:
        yield
    finally:
        Thread(target=server.shutdown, name="blockread-accumulators", daemon=True).start()


@contextmanager
def _reporting(tracker: Any, report: Report) -> Iterator[None]:  # noqa: ANN401 - pyspark's StatusTracker
    """Report the progress of the run in the body every `REPORT_S` seconds."""
    idle: set[int] = set()

    def poll() -> bool:
        with _alive():
            for progress in _stages(tracker, idle):
                report(progress)
        return True

    with repeating(poll, every_s=REPORT_S, name="blockread-progress"):
        yield


def _stages(tracker: Any, idle: set[int]) -> Iterator[Progress]:  # noqa: ANN401
    """Yield the progress of each stage; `idle` keeps those without a running task, which may be about to start some."""
    for number in tracker.getActiveStageIds():
        stage = tracker.getStageInfo(number)
        if stage is not None and stage.numTasks:
            done, failed = stage.numCompletedTasks, stage.numFailedTasks
            is_idle = not (stage.numActiveTasks or failed)  # a task that failed waits to be tried again
            waits = is_idle and number in idle
            (idle.add if is_idle else idle.discard)(number)
            yield Progress(done=done, total=stage.numTasks, failed=failed, waits=waits)
