"""A job's work in this very process, without Spark: quick, and the same code in driver and tasks."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.exchange.model import GroupResult, ReadSpec, Submission
from airflow_provider_blockread.exchange.results import SPEC_NAME, accept_result, write_result
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.spark.driver import Driver, group_result
from airflow_provider_blockread.spark.engines.in_process import InProcessEngine
from airflow_provider_blockread.spark.engines.protocol import Answer, Item, Measure, Report, Task
from airflow_provider_blockread.spark.tasks.partition import read_blocks
from airflow_provider_blockread.storage.stores import Stores


class ReadHere:
    """A `Submitter` that does a job's work in this very process, without Spark."""

    def __init__(self, stores: Stores | None = None, *, cores: int = 1, observer: Observer | None = None) -> None:
        """Take the stores that open files, into how many tasks a group is cut, and what takes the driver's reports."""
        self.observer = observer or Observer()
        self.stores = stores or Stores()
        self.cores = cores
        self.attempts = 0
        self.scanned: list[int] = []  # numbers of blocks, as often as they were scanned
        self.cancelled = False

    @property
    def keeps_secrets(self) -> bool:
        """Whether a secret stays in this process, as it does."""
        return True

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job."""
        del name
        engine = _Engine(self.cores, self.scanned)
        make_stores = lambda: self.stores  # noqa: E731
        Driver(submission=submission, engine=engine, make_stores=make_stores, observer=self.observer).run()

    def cancel(self) -> None:
        """Remember that it was asked to stop."""
        self.cancelled = True


class _Engine(InProcessEngine):
    def __init__(self, cores: int, scanned: list[int]) -> None:
        super().__init__(cores)
        self._scanned = scanned

    def run(
        self, task: Task[Item, Answer], items: Sequence[Item], *, title: str, report: Report, measure: Measure[Answer]
    ) -> list[Answer]:
        if title.endswith("scanned"):
            self._scanned.extend(block.number for item in items for block in item.blocks)  # type: ignore[attr-defined]
        return super().run(task, items, title=title, report=report, measure=measure)


def write_group(spec: ReadSpec, stores: Stores, parts: list[list[Block]], states: dict[int, int]) -> GroupResult:
    """Read parts as tasks would and leave the group's result; return it."""
    reports = [read_blocks(spec, stores, part, attempt=number, states=states) for number, part in enumerate(parts)]
    submission = Submission(spec_uri=f"{spec.folder}/{SPEC_NAME}", spec_hash="")
    write_result(stores, submission, group_result(stores, spec, reports))
    return accept_result(stores, submission)[0]
