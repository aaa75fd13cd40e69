"""Submits an application with its own secret, and trusts only what it has sealed."""

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
    """Write the specification of an application and return the submission; leftovers of an earlier try are removed."""
    code = _code(env, spec, submitter)
    for name in (FAILURE_NAME, *(() if submitter.keeps_secrets else (STOP_NAME, SIGN_NAME))):
        env.stores.remove(f"{spec.folder}/{name}")
    secret = new_secret() if submitter.keeps_secrets else ""
    submission = write_spec(env.stores, spec, secret=secret, window_secret=window_secret(env, spec.window, submitter))
    return replace(submission, code=code)


def require_code(env: Environment, generation: Generation, *, mode: str = "write") -> None:
    """Refuse to read a window again if its function is defined in a DAG's file and the caller does not have it.

    Raises:
        OptionsError: when the caller has no function, or a different one.
    """
    _own_code(env, generation.window, generation.as_options(), mode)


def _own_code(env: Environment, window: str, options: GenerationOptions, mode: str) -> FunctionCode | None:
    """Return the code of the function with which a window is read, or None if the job does not need it."""
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
            f"window {window}: its function {text.name} has changed since this generation was planned;"
            " clear the run with its plan, which starts a generation with the current text"
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
    """Return the secret with which applications seal what a window keeps; empty if it cannot be passed to them."""
    return env.window_secret(window) if submitter.keeps_secrets else ""


def run_submission(env: Environment, submission: Submission, submitter: Submitter, *, name: str) -> None:
    """Run the application to its end.

    Raises:
        BlockReadError: the error that the application reported, or else how it ended; never a conflict, since only the
            ledger decides who owns a group.
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
    """Raise the error that the application reported, if any.

    Raises:
        BlockReadError: that error; never a conflict.
    """
    try:
        reported = read_failure(env.stores, submission)
    except BlockReadError as error:  # this failure must not hide the application's
        env.observer.warn(str(error))
        return
    if reported is not None:
        raise reported from None  # so that it is shown only once
