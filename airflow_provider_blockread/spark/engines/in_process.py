"""Tasks in this process, one after another, without Spark: for tests, documentation and benchmarks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import NoReturn

from airflow_provider_blockread.errors import BlockReadError, OptionsError, SparkJobError
from airflow_provider_blockread.exchange.progress import Application
from airflow_provider_blockread.observer import Progress, Tally
from airflow_provider_blockread.spark.engines.protocol import Answer, Item, Measure, Report, Task
from airflow_provider_blockread.spark.engines.reporting import job_failed


class InProcessEngine:
    """An `Engine` without Spark; `cores` only determines into how many items a job is split.

    A task that raises is retried until it has failed `failures` times, as in Spark's `local[cores, failures]`.
    """

    may_grow = False
    application = Application()

    def __init__(self, cores: int = 1, failures: int = 1) -> None:
        self.cores = cores
        self._failures = failures
        self._attempts = count()
        self._cancelled = False

    def run(
        self, task: Task[Item, Answer], items: Sequence[Item], *, title: str, report: Report, measure: Measure[Answer]
    ) -> list[Answer]:
        """Run the task for each item and return the answers; report after each."""
        del title  # nobody watches
        self._cancelled = False
        answers: list[Answer] = []
        tally = Tally()
        for item in items:
            if self._cancelled:
                msg = "the run was cancelled; retry to start again"
                raise SparkJobError(msg)
            answers.append(self._answer(task, item))
            tally = tally.plus(measure(answers[-1]))
            report(Progress(done=len(answers), total=len(items), tally=tally))
        return answers

    def _answer(self, task: Task[Item, Answer], item: Item) -> Answer:
        failed = 0
        while True:
            try:
                return task(item, next(self._attempts))
            except Exception as error:
                failed += 1
                if failed < self._failures:
                    continue
                if isinstance(error, BlockReadError):
                    raise
                raise job_failed(error) from error

    def session(self, *, title: str, report: Report) -> NoReturn:
        """Refuse, because there is no Spark.

        Raises:
            OptionsError: always.
        """
        del report
        msg = f"{title}: DataFrame functions and SQL need Spark, and this process runs without it; use an ArrowFunction"
        raise OptionsError(msg)

    def cancel(self) -> None:
        """Stop this run before its next item."""
        self._cancelled = True
