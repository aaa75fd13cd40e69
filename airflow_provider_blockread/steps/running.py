"""Takes a planned window through all of its steps in one process, for the command line and for rebuilds."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_blockread.ledger.windows.generations import latest_generation, list_groups
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.steps.commit.committing import commit
from airflow_provider_blockread.steps.model import Caller, Environment, Published, Submitter, WindowRef
from airflow_provider_blockread.steps.read.groups import read
from airflow_provider_blockread.steps.read.scanning import scan


@dataclass(frozen=True, kw_only=True)
class WindowRunner:
    """Takes windows through scan, read and commit, group after group."""

    env: Environment
    owner: str
    job: SparkJob
    submitter: Submitter

    def run(self, ref: WindowRef) -> Published:
        """Take a planned window to its end and return what is published.

        Raises:
            BlockReadError: the error of a step; what was done before stays done.
        """
        if ref.status == "read":
            scan(self.env, ref, submitter=self.submitter)
            caller = Caller(owner=self.owner, clear_number=self._clear_number(ref))
            for group in range(ref.groups):
                read(self.env, ref, group, caller=caller, job=self.job, submitter=self.submitter)
        return commit(self.env, ref, owner=self.owner, stale_after_s=self.job.stale_after_s)

    def _clear_number(self, ref: WindowRef) -> int:
        """Return the clear number with which groups are claimed: a new one after a failed proof, to read all again."""
        generation = latest_generation(self.env.ledger, ref.window)
        groups = list_groups(self.env.ledger, ref.window, generation.number)
        newest = max((group.clear_number for group in groups), default=generation.clear_number)
        return newest + (generation.state == "failed")
