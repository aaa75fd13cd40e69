"""Errors that a job reports: a task's in the text of Spark's error, a driver's in a file.

Both are sealed under a secret that no file name, record or foreign file contains, so that text which only looks like an
error of this package is never mistaken for one. A job reports permanent and transient errors. It reports no conflict,
because only the ledger knows who owns a group or a window.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from airflow_provider_blockread.errors import (
    BlockReadError,
    ExchangeError,
    FileChangedError,
    FileMissingError,
    PermanentError,
    SourceError,
    SparkJobError,
    TransientError,
    error_class,
    shell_word,
)
from airflow_provider_blockread.exchange.files import read_small
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.seals import sealed, unsealed
from airflow_provider_blockread.storage.stores import Stores

FAILURE_NAME = "error.json"
_NAME = "failure"
_TASK = "task"  # what a task's line is bound to; its secret already belongs to one run of a job
_MARK = re.compile(r"(?=blockread-failure ([A-Za-z0-9+/]+=*))")  # overlapping: data may precede it directly
_MAX_CHARS = 10_000  # of a message, as in the ledger
_ROOTS = (PermanentError, TransientError)


def naming_file(error: BlockReadError, window: str, path: str) -> str:
    """Return an error's message, with the command that excludes a file completed for this file of this window."""
    reasons = ((FileMissingError, "missing"), (FileChangedError, "changed"))
    reason = next((reason for cls, reason in reasons if isinstance(error, cls)), "bad")
    command = f"`blockread windows exclude {window} {shell_word(path)} --reason {reason}`"
    return str(error).replace("`blockread windows exclude`", command)


def as_line(error: BlockReadError, secret: str) -> str:
    """Return the error as one line, which `from_text` finds with the same secret."""
    line = base64.b64encode(sealed(_NAME, _dump(error), secret=secret, bound=_TASK))
    return f"blockread-failure {line.decode()}"


def from_text(text: str, secret: str) -> BlockReadError | None:
    """Return the error whose line, made with this secret, is somewhere in a text, or None.

    Without a secret, anybody could forge such a line, so none is accepted.
    """
    for line in _MARK.findall(text) if secret else ():
        try:
            data = base64.b64decode(line, validate=True)
        except ValueError:
            continue
        error = _load(unsealed(_NAME, data, secret=secret, bound=_TASK))
        if error is not None:
            return error
    return None


def write_failure(stores: Stores, submission: Submission, error: BlockReadError) -> None:
    """Write the error of a submission beside its specification, so that Airflow's side can raise the same error."""
    data = sealed(_NAME, _dump(error), secret=submission.secret, bound=submission.spec_hash)
    stores.write_bytes_atomic(f"{submission.folder}/{FAILURE_NAME}", data)


def read_failure(stores: Stores, submission: Submission) -> BlockReadError | None:
    """Return the error that the application of this submission wrote, or None.

    Raises:
        ExchangeError: when the file is not one that this application wrote.
    """
    uri = f"{submission.folder}/{FAILURE_NAME}"
    try:
        data = read_small(stores, uri)
    except FileMissingError:
        return None
    error = _load(unsealed(_NAME, data, secret=submission.secret, bound=submission.spec_hash))
    if error is None:
        msg = (
            f"failure file {uri} was not written by the application of this attempt; find out"
            " who else writes to the work area"
        )
        raise ExchangeError(msg)
    return error


def _dump(error: BlockReadError) -> dict[str, str]:
    cls = next((cls for cls in type(error).__mro__ if _is_reported(cls)), SparkJobError)
    fields = {"error": cls.__name__, "message": str(error)[:_MAX_CHARS]}
    return fields | {"path": error.path} if isinstance(error, SourceError) else fields


def _load(fields: dict[str, Any] | None) -> BlockReadError | None:
    """Return the error with these fields, or None unless they are exactly those of an error."""
    if fields is None or not all(isinstance(value, str) for value in fields.values()):
        return None
    cls = error_class(fields.get("error", ""))
    if not _is_reported(cls):
        return None
    if issubclass(cls, SourceError):
        return cls(fields["message"], fields["path"]) if fields.keys() == {"error", "message", "path"} else None
    return cls(fields["message"]) if fields.keys() == {"error", "message"} else None


def _is_reported(cls: type) -> bool:
    return issubclass(cls, _ROOTS) and error_class(cls.__name__) is cls
