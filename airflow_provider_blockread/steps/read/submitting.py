"""Submitting an application under a secret of its own, and believing only what it sealed."""

from __future__ import annotations

from airflow_provider_blockread.errors import BlockReadError, ConflictError, SparkJobError
from airflow_provider_blockread.exchange.failures import FAILURE_NAME, read_failure
from airflow_provider_blockread.exchange.model import JobSpec, Submission
from airflow_provider_blockread.exchange.results import write_spec
from airflow_provider_blockread.exchange.seals import new_secret
from airflow_provider_blockread.steps.model import Environment, Submitter


def write_submission(env: Environment, spec: JobSpec, submitter: Submitter) -> Submission:
    """Write the specification of an application, and clear its place of what an earlier try has left."""
    env.stores.remove(f"{spec.folder}/{FAILURE_NAME}")
    secret = new_secret() if submitter.keeps_secrets else ""
    return write_spec(env.stores, spec, secret=secret, window_secret=window_secret(env, spec.window, submitter))


def window_secret(env: Environment, window: str, submitter: Submitter) -> str:
    """Return the secret under which applications keep something of a window; empty where it cannot reach them."""
    return env.window_secret(window) if submitter.keeps_secrets else ""


def run_submission(env: Environment, submission: Submission, submitter: Submitter, *, name: str) -> None:
    """Run the application to its end.

    Raises:
        BlockReadError: what the application left as its error, else what its end was; never a conflict, as who owns
            a group is for the ledger to say.
    """
    try:
        submitter.submit(submission, name=name)
    except BlockReadError as error:
        reported = _reported(env, submission) or error
        if isinstance(reported, ConflictError):
            reported = SparkJobError(f"{name}: {reported}")
        raise reported from None  # it is shown once


def _reported(env: Environment, submission: Submission) -> BlockReadError | None:
    try:
        return read_failure(env.stores, submission)
    except BlockReadError as error:  # what hinders this look must not hide what the application died of
        env.observer.warn(str(error))
    return None
