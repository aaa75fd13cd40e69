"""Reading a group in one phase, or in two: one process submits the application, and another one completes it later."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from airflow_provider_blockread.errors import ConflictError, FencedError
from airflow_provider_blockread.exchange.model import ReadSpec
from airflow_provider_blockread.exchange.results import RESULT_NAME, SPEC_NAME, read_spec
from airflow_provider_blockread.ledger.model import Claim
from airflow_provider_blockread.ledger.windows.groups import adopt_group, record_submission
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.steps.model import (
    Caller,
    DetachedSubmitter,
    Environment,
    ReadOutcome,
    Submitter,
    WindowRef,
)
from airflow_provider_blockread.steps.read.reading import Attempt
from airflow_provider_blockread.steps.read.submitting import raise_reported
from airflow_provider_blockread.steps.read.waiting import Waiting, poll, wait_here


def read(
    env: Environment, ref: WindowRef, group: int, *, caller: Caller, job: SparkJob, submitter: Submitter
) -> ReadOutcome:
    """Read one group and return the outcome; a group that is already done is not read again.

    Raises:
        ConflictError: when the read depends on the end of a part that another window has not published yet.
        CompleteError: when the group must be read again, but the generation is published or verified.
        OwnedError: when a live owner holds the group.
        FencedError: when another attempt took the group over while it was read.
        BlockReadError: the error that the Spark application reported.
    """
    attempt = ClusterAttempt(env, ref, group, job, submitter)
    running = attempt.adopt(caller)
    if running is not None and attempt.run(running, attempt.follow):
        return attempt.outcome(done_before=False)
    while (claim := attempt.claim(caller)) is not None:
        if attempt.run(claim, attempt.read):
            return attempt.outcome(done_before=False)
    return attempt.outcome(done_before=True)


class ClusterAttempt(Attempt):
    """An attempt whose driver may run on a cluster, and outlive the process that submitted it."""

    def adopt(self, caller: Caller) -> Claim | None:
        """Return the claim of the task's earlier try whose application runs or has ended on a cluster, or None.

        The claim keeps its epoch, but the earlier try no longer holds it. An application that the cluster may never
        have accepted is not adopted; the next claim fences it.
        """
        row = self._found
        if row.clear_number != caller.clear_number or not self._runs_for(caller):
            return None
        claim = self._claim_of_before(caller)
        waiting = self.waiting(claim)
        try:
            found = poll(self._env, waiting)
        except ConflictError:  # the next claim reports it
            return None
        if not (found.ended or found.sign or row.application):
            return None
        try:
            claim = adopt_group(self._env.ledger, claim)
        except ConflictError:
            return None
        self._env.observer.log(f"{waiting}; an earlier try submitted it, and this one waits for it")
        return claim

    def held(self, caller: Caller) -> Claim:
        """Return the claim of the application on a cluster that this task waits for.

        Raises:
            FencedError: when another attempt has taken over.
        """
        row = self._found
        if not self._runs_for(caller):
            msg = (
                f"{self.ref}: it is {row.state} at epoch {row.epoch} by {row.owner}, so the application that this task"
                " has waited for is fenced; retry to read what is still missing"
            )
            raise FencedError(msg)
        return self._claim_of_before(caller)

    def _claim_of_before(self, caller: Caller) -> Claim:
        return Claim(ref=self.ref, epoch=self._found.epoch, owner=caller.owner, holder=self._found.holder)

    def waiting(self, claim: Claim) -> Waiting:
        """Return what is needed to wait for the application of a claim."""
        row, folder = self._row(), self.folder(claim.epoch)
        return Waiting(
            title=self.title,
            name=self.name(claim),
            application=row.application,
            spec_uri=f"{folder}/{SPEC_NAME}",
            spec_hash=row.spec_hash or "",
            answer=f"{folder}/{RESULT_NAME}",
            claim=claim,
        )

    def follow(self, claim: Claim) -> bool:
        """Wait for the end of an adopted application, and complete the group; returns False as `read` does."""
        wait_here(self._env, self.waiting(claim), self._job, cast("DetachedSubmitter", self._submitter))
        return self.finish(claim)

    def start(self, claim: Claim) -> Waiting:
        """Submit the application to its cluster, and return what is needed to wait for it."""
        _, submission = self.prepare(claim)
        with self.beating(claim):
            application = cast("DetachedSubmitter", self._submitter).start(submission, name=self.name(claim))
        record_submission(self._env.ledger, claim, spec_hash=submission.spec_hash, application=application)
        return self.waiting(claim)

    def finish(self, claim: Claim) -> bool:
        """Check the results of an application on a cluster, and complete the group; returns False as `read` does."""
        submission = self.waiting(claim).submission
        raise_reported(self._env, submission)
        spec = cast("ReadSpec", read_spec(self._env.stores, submission))
        return self.complete(replace(claim, excluded=spec.excluded), spec, submission)

    def _runs_for(self, caller: Caller) -> bool:
        row = self._found
        return row.state == "running" and row.owner == caller.owner and row.spec_hash is not None
