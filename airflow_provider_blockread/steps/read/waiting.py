"""Waits for an application whose driver runs on a cluster, by the files that it writes, without a process of ours."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from airflow_provider_blockread.errors import BlockReadError, ConflictError, SparkJobError, TransientError
from airflow_provider_blockread.exchange.failures import FAILURE_NAME
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.signs import Watchdog, read_sign, write_stop
from airflow_provider_blockread.ledger.model import Claim, GroupRef
from airflow_provider_blockread.ledger.windows.groups import fail_group, heartbeat, is_adopted
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.steps.describe import describe_tally
from airflow_provider_blockread.steps.model import AsJson, DetachedSubmitter, Environment
from airflow_provider_blockread.steps.read.progress import copy_progress

_PAUSE_S = 0.5  # after which a cancelled wait ends


@dataclass(frozen=True, kw_only=True)
class Waiting(AsJson):
    """An application on a cluster, and all that is needed to wait for it; it contains no secret."""

    title: str  # of its work, for people
    name: str
    application: str | None  # its id on the cluster; None if the submitting process ended before it was known
    spec_uri: str
    spec_hash: str
    answer: str  # URI of the file that the application writes on success
    claim: Claim | None = None  # of a group; a scan needs none

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the value from its JSON."""
        held = data["claim"]
        claim = None if held is None else Claim(**held | {"ref": GroupRef(**held["ref"]), "excluded": ()})
        return cls(**{**data, "claim": claim})

    @property
    def submission(self) -> Submission:
        """The submission, without secrets, which a driver on a cluster does not get."""
        return Submission(spec_uri=self.spec_uri, spec_hash=self.spec_hash)

    def __str__(self) -> str:
        known = f" as {self.application}" if self.application and self.application != self.name else ""
        return f"{self.title}: application {self.name}{known}; its files are in {self.submission.folder}"


@dataclass(frozen=True, kw_only=True)
class Polled(AsJson):
    """The result of polling an application."""

    ended: bool  # it has left its answer, or an error
    sign: str  # the driver's newest sign of life
    progress: str = ""  # what it has read so far, for people; empty before its first report


def poll(env: Environment, waiting: Waiting) -> Polled:
    """Return the state of an application, and keep its claim alive; once the claim is lost, the driver is stopped.

    Raises:
        FencedError: when another attempt has taken over.
        TransientError: when ledger or store cannot be reached.
    """
    if waiting.claim is not None:
        try:
            heartbeat(env.ledger, waiting.claim)
        except ConflictError as error:
            if not is_adopted(env.ledger, waiting.claim):
                write_stop(env.stores, waiting.submission, str(error))
            raise
    failure = f"{waiting.submission.folder}/{FAILURE_NAME}"
    if env.stores.exists(waiting.answer) or env.stores.exists(failure):
        return Polled(ended=True, sign="")
    sign = read_sign(env.stores, waiting.submission)
    return Polled(ended=False, sign=sign, progress=_progress(env, waiting))


def _progress(env: Environment, waiting: Waiting) -> str:
    """Record the progress of a group in the ledger, and return it in words."""
    if waiting.claim is None:
        return ""
    with suppress(BlockReadError):
        left = copy_progress(env, waiting.claim, waiting.submission)
        return "" if left is None else f"{waiting.title}: {describe_tally(left.tally)} so far"
    return ""


def stop(env: Environment, waiting: Waiting, why: str) -> Polled:
    """Fail the attempt of an application, if it is still the newest, and stop its driver, unless it was adopted."""
    if waiting.claim is not None:
        with suppress(ConflictError):
            fail_group(env.ledger, waiting.claim, why)
    if waiting.claim is None or not is_adopted(env.ledger, waiting.claim):
        write_stop(env.stores, waiting.submission, why)
    return Polled(ended=True, sign="")


def wait_here(env: Environment, waiting: Waiting, job: SparkJob, submitter: DetachedSubmitter) -> None:
    """Wait in this process until an application has ended.

    Raises:
        SparkJobError: when the driver has died without an answer or an error, or the submitter was cancelled.
        FencedError: when another attempt has taken over.
    """
    watchdog = Watchdog(waiting.application or waiting.name, stale_after_s=job.stale_after_s)
    progress = ""
    while True:
        problem = ""
        with suppress(TransientError):  # of the ledger and the store
            found = poll(env, waiting)
            if found.ended:
                return
            if found.progress != progress:
                progress = found.progress
                env.observer.log(progress)
            problem = watchdog.problem(found.sign, submitter.status(waiting.application) if waiting.application else "")
        if problem:
            raise SparkJobError(problem)
        again = time.monotonic() + job.heartbeat_s
        while (left := again - time.monotonic()) > 0:
            if submitter.cancelled:  # by a signal handler, which does not end a sleep
                msg = (
                    f"{waiting.name}: the wait for the application was stopped; clear the task to read the group again"
                )
                raise SparkJobError(msg)
            time.sleep(min(left, _PAUSE_S))
