"""Reads and scans in two phases, for tasks for which another process waits in between."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from airflow_provider_blockread.errors import BlockReadError, FencedError, SparkJobError
from airflow_provider_blockread.exchange.layout import scan_name
from airflow_provider_blockread.exchange.model import ScanSpec
from airflow_provider_blockread.ledger.model import Claim
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.steps.model import Caller, DetachedSubmitter, Environment, ReadOutcome, WindowRef
from airflow_provider_blockread.steps.read.groups import ClusterAttempt
from airflow_provider_blockread.steps.read.scanning import PlannedScan
from airflow_provider_blockread.steps.read.submitting import raise_reported, write_submission
from airflow_provider_blockread.steps.read.waiting import Waiting, stop


@dataclass(frozen=True, kw_only=True)
class DeferredRead:
    """The read of one group in two phases, for a task for which another process waits in between."""

    env: Environment
    ref: WindowRef
    group: int
    caller: Caller
    job: SparkJob
    submitter: DetachedSubmitter

    def start(self) -> ReadOutcome | Waiting:
        """Submit the application to its cluster, or adopt that of an earlier try; return what to wait for.

        Returns the outcome if the group has already been read.

        Raises:
            BlockReadError: as `read` does.
        """
        attempt = self._attempt()
        running = attempt.adopt(self.caller)
        if running is not None:
            return attempt.waiting(running)
        while (claim := attempt.claim(self.caller)) is not None:
            waiting = attempt.run(claim, attempt.start)
            if waiting is not None:
                return waiting
        return attempt.outcome(done_before=True)

    def resume(self, problem: BlockReadError | None = None) -> ReadOutcome | Waiting:
        """Complete the group and return the outcome, or submit another application if a file must be excluded first.

        The problem says why the application will not answer, if this is known.

        Raises:
            FencedError: when another attempt has taken over since the application was submitted.
            BlockReadError: as `read` does, or the problem.
        """
        attempt = self._attempt()

        def complete(claim: Claim) -> bool:
            if problem is not None:
                raise problem
            return attempt.finish(claim)

        if attempt.run(attempt.held(self.caller), complete):
            return attempt.outcome(done_before=False)
        return self.start()

    def stop(self, why: str) -> None:
        """Stop the application that this task waits for, unless another attempt has taken over."""
        attempt = self._attempt()
        with suppress(FencedError):
            stop(self.env, attempt.waiting(attempt.held(self.caller)), why)

    def _attempt(self) -> ClusterAttempt:
        return ClusterAttempt(self.env, self.ref, self.group, self.job, self.submitter)


@dataclass(frozen=True, kw_only=True)
class DeferredScan:
    """The scan of a window in two phases, for a task for which another process waits in between."""

    env: Environment
    ref: WindowRef
    submitter: DetachedSubmitter

    def start(self) -> Waiting | None:
        """Submit the application to its cluster and return what to wait for, or None if nothing is left to scan.

        Raises:
            BlockReadError: as `scan` does.
        """
        planned = self._planned()
        return None if planned is None else planned.run(self._submit)

    def resume(self, waiting: Waiting, problem: BlockReadError | None = None) -> Waiting | None:
        """Accept the application's results and return None, or submit another one if a file must be excluded first.

        Raises:
            FencedError: when another try has submitted an application since.
            BlockReadError: as `scan` does, or the problem: why the application will not answer.
        """
        planned = self._planned()
        if planned is None:
            return None
        if waiting.name != scan_name(self.ref.window, planned.epoch):
            msg = (
                f"window {self.ref.window}: its scan is at epoch {planned.epoch}, so the application {waiting.name}"
                " that this task has waited for is fenced; retry, which scans what is not scanned yet"
            )
            raise FencedError(msg)

        def check(_: ScanSpec) -> Waiting:
            if problem is not None:
                raise problem
            raise_reported(self.env, waiting.submission)
            msg = f"{waiting.name}: the application left entry states that are not its own; clear the scan's task"
            raise SparkJobError(msg)

        planned.run(check, epoch=planned.epoch)
        return self.start()

    def stop(self, why: str) -> None:
        """Stop the application that was submitted last, if it is still running."""
        planned = self._planned()
        if planned is not None:
            planned.stop(planned.epoch, why)

    def _planned(self) -> PlannedScan | None:
        return PlannedScan.of(self.env, self.ref, submitter=self.submitter)

    def _submit(self, spec: ScanSpec) -> Waiting:
        self.env.stores.remove(spec.entry_states_uri)  # what an application with another secret may have left
        submission = write_submission(self.env, spec, self.submitter)
        name = scan_name(spec.window, spec.epoch)
        return Waiting(
            title=f"window {spec.window}: scan",
            name=name,
            application=self.submitter.start(submission, name=name),
            spec_uri=submission.spec_uri,
            spec_hash=submission.spec_hash,
            answer=spec.entry_states_uri,
        )
