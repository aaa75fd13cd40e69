"""Submitting an application under a secret of its own, and believing only what it sealed."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_blockread.errors import BlockReadError, ConflictError, OptionsError, SparkJobError
from airflow_provider_blockread.exchange.failures import FAILURE_NAME, read_failure
from airflow_provider_blockread.exchange.model import JobSpec, ReadSpec, Submission
from airflow_provider_blockread.exchange.results import write_spec
from airflow_provider_blockread.exchange.seals import new_secret
from airflow_provider_blockread.exchange.signs import SIGN_NAME, STOP_NAME
from airflow_provider_blockread.ledger.model import Generation
from airflow_provider_blockread.options import FrameFunction, FunctionCode, GenerationOptions
from airflow_provider_blockread.options.functions import text_of
from airflow_provider_blockread.steps.model import Environment, Submitter


def write_submission(env: Environment, spec: JobSpec, submitter: Submitter) -> Submission:
    """Write the specification of an application, and clear its place of what an earlier try has left."""
    code = _code(env, spec, submitter)
    for name in (FAILURE_NAME, *(() if submitter.keeps_secrets else (STOP_NAME, SIGN_NAME))):
        env.stores.remove(f"{spec.folder}/{name}")
    secret = new_secret() if submitter.keeps_secrets else ""
    submission = write_spec(env.stores, spec, secret=secret, window_secret=window_secret(env, spec.window, submitter))
    return replace(submission, code=code)


def require_code(env: Environment, generation: Generation, *, mode: str = "write") -> None:
    """Refuse to read a window again if its function is in a DAG's file and the caller does not have it.

    Raises:
        OptionsError: when the caller has none, or another one.
    """
    _own_code(env, generation.window, GenerationOptions.from_json(generation.options), mode)


def _own_code(env: Environment, window: str, options: GenerationOptions, mode: str) -> FunctionCode | None:
    """Return the code of the function with which a window is read; None where the job needs none."""
    text = text_of(options.function)
    if text is None or (mode == "verify" and isinstance(options.function, FrameFunction)):
        return None
    if env.code is None:
        msg = (
            f"window {window}: its function {text.name} is in a DAG's file, and the ledger has only its digest; clear"
            " the DAG's run to read it again, or name the function by an import path, as ArrowFunction('m:f') does"
        )
        raise OptionsError(msg)
    if env.code.digest != text.digest:
        msg = (
            f"window {window}: its function {text.name} has another text now than when this generation was planned;"
            " clear the run with its plan, which starts a generation with the text of now"
        )
        raise OptionsError(msg)
    return env.code


def _code(env: Environment, spec: JobSpec, submitter: Submitter) -> FunctionCode | None:
    code = _own_code(env, spec.window, spec.options, spec.mode) if isinstance(spec, ReadSpec) else None
    if code is not None and not submitter.keeps_secrets:
        msg = (
            f"{spec}: the text of a function reaches a driver on this host only, not one in deploy mode cluster, since"
            " others could change it on its way; use deploy mode client, or name the function by an import path and"
            " give its module to SparkJob(py_files=...)"
        )
        raise OptionsError(msg)
    return code


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
        raise_reported(env, submission)
        if isinstance(error, ConflictError):
            msg = f"{name}: {error}"
            raise SparkJobError(msg) from None
        raise


def raise_reported(env: Environment, submission: Submission) -> None:
    """Raise what the application left as its error, if it left one.

    Raises:
        BlockReadError: that error; never a conflict.
    """
    reported = _reported(env, submission)
    if reported is not None:
        raise reported from None  # it is shown once


def _reported(env: Environment, submission: Submission) -> BlockReadError | None:
    try:
        return read_failure(env.stores, submission)
    except BlockReadError as error:  # what hinders this look must not hide what the application died of
        env.observer.warn(str(error))
    return None
