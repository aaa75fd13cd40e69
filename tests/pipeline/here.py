"""A job's work in this very process, without Spark: quick, and the same code in tasks."""

from __future__ import annotations

from typing import Any

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.model import GroupResult, JobSpec, Submission
from airflow_provider_blockread.exchange.results import SPEC_NAME, accept_result, read_spec
from airflow_provider_blockread.spark import job
from airflow_provider_blockread.spark.partition import read_blocks, scan_blocks
from airflow_provider_blockread.spark.reporting import as_own_error
from airflow_provider_blockread.storage.stores import Stores


class ReadHere:
    """A `Submitter` that does a job's work in this very process, without Spark: quick, and the same code in tasks."""

    def __init__(self, stores: Stores | None = None) -> None:
        """Take the stores that open files."""
        self.stores = stores or Stores()
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
        application = _Here(read_spec(self.stores, submission), submission, self)
        try:
            application.work(self.stores)
        except BlockReadError:
            raise
        except Exception as error:
            raise as_own_error(error, application.secret) from error

    def cancel(self) -> None:
        """Remember that it was asked to stop."""
        self.cancelled = True


class _Here(job._Application):
    def __init__(self, spec: JobSpec, submission: Submission, here: ReadHere) -> None:
        super().__init__(spec, submission, here, None, lambda _: None)
        self._here = here

    def work(self, stores: Stores) -> None:
        """Scan or read, as the specification says."""
        if self._spec.mode == "scan":
            self.scan_window(stores)
        else:
            self.read_group(stores)

    def _run_tasks(self, task: Any, work: list[Any]) -> list[Any]:
        return [answer for item in work for answer in task([item])]

    def read_group(self, stores: Stores) -> None:
        blocks = list(self._blocks(stores, self._spec.group))
        states = self._entry_states(stores, blocks)
        write_group(self._spec, stores, [blocks] if blocks else [], states, self._submission)

    def _state_maps(self, blocks: list[Block]) -> dict[int, list[list[int]]]:
        self._here.scanned.extend(block.number for block in blocks)
        return dict(scan_blocks(self._spec, self._here.stores, blocks))


def write_group(
    spec: JobSpec,
    stores: Stores,
    parts: list[list[Block]],
    states: dict[int, int],
    submission: Submission | None = None,
) -> GroupResult:
    """Read parts as Spark tasks would and leave the group's result; return it."""
    reports = [read_blocks(spec, stores, part, attempt=number, states=states) for number, part in enumerate(parts)]
    submission = submission or Submission(spec_uri=f"{spec.work_uri}/{SPEC_NAME}", spec_hash="")
    job._write_result(stores, spec, submission, reports, seconds=0.0)
    return accept_result(stores, submission)[0]
