"""Errors on their way out of a task and out of a driver: only what was sealed is believed, whatever data say."""

from __future__ import annotations

import base64
import dataclasses
import json
import traceback
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread import errors
from airflow_provider_blockread.errors import (
    BlockReadError,
    ConflictError,
    ExchangeError,
    FileMissingError,
    PermanentError,
    RecordError,
    SourceError,
    SparkJobError,
    TransientError,
    printable,
)
from airflow_provider_blockread.exchange.failures import as_line, from_text, read_failure, write_failure
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.seals import sealed
from airflow_provider_blockread.spark.engines.reporting import as_own_error, own_errors_as_text
from airflow_provider_blockread.storage.stores import Stores
from tests.examples import examples

SECRET, FOREIGN = "ours", "theirs"
CLASSES = [found for found in vars(errors).values() if isinstance(found, type) and issubclass(found, BlockReadError)]
REPORTED = [found for found in CLASSES if issubclass(found, PermanentError | TransientError)]


def _made(cls: type[BlockReadError], message: str, path: str) -> BlockReadError:
    return cls(message, path) if issubclass(cls, SourceError) else cls(message)


def _line(fields: dict[str, Any], secret: str) -> str:
    return "blockread-failure " + base64.b64encode(sealed("failure", fields, secret=secret, bound="task")).decode()


_TEXT = st.text(max_size=60)
_FIELDS = st.dictionaries(
    st.sampled_from(["error", "message", "path", "seal", "failure", "else"]),
    st.one_of(st.sampled_from([cls.__name__ for cls in CLASSES]), _TEXT, st.integers(), st.none()),
)
_RAISED = st.builds(_made, st.sampled_from(REPORTED), _TEXT, _TEXT)
# What stands in a file name, a record, or the message of a user's function that quotes one.
_HOSTILE = st.one_of(
    _TEXT,
    _FIELDS.map(lambda fields: "blockread-failure " + json.dumps(fields)),
    _FIELDS.map(lambda fields: _line(fields, FOREIGN)),
    _RAISED.map(lambda error: as_line(error, FOREIGN)),
    _RAISED.map(lambda error: as_line(error, "")),
    st.binary(max_size=60).map(lambda data: "blockread-failure " + base64.b64encode(data).decode()),
    st.sampled_from(["blockread-failure ", "A" * 9, "\n", "\r", "\x00", "\u2028", "\nFencedError: ", "\ud800"]),
)
_AROUND = st.lists(_HOSTILE, max_size=4).map("".join)


@given(text=_AROUND)
@examples(300)
def test_data_never_speak(text: str) -> None:
    """No text that lacks the secret is taken for an error of this package, wherever it is quoted."""
    assert from_text(text, SECRET) is None
    found = as_own_error(RuntimeError(text), SECRET)
    assert type(found) is SparkJobError
    assert printable(str(found)) == str(found)
    assert len(str(found)) < 15_000


@given(before=_AROUND, error=_RAISED, after=_AROUND)
@examples(300)
def test_what_was_sealed_is_found(before: str, error: BlockReadError, after: str) -> None:
    """The sealed line is found whatever stands before and behind it, and is the error that was raised."""
    found = from_text(f"{before}{as_line(error, SECRET)}\n{after}", SECRET)

    assert (type(found), str(found)) == (type(error), str(error))
    assert getattr(found, "path", None) == getattr(error, "path", None)


@given(hostile=_AROUND, error=_RAISED)
@examples(100)
def test_a_traceback_passes_the_error_on(hostile: str, error: BlockReadError) -> None:
    """The error that caused it is printed first, with what it quotes; only the sealed one counts."""
    try:
        with own_errors_as_text(SECRET):
            error.__cause__ = ValueError(hostile)
            raise error
    except RuntimeError as raised:
        text = "".join(traceback.format_exception(raised))

    found = as_own_error(RuntimeError(text), SECRET)
    assert (type(found), str(found)) == (type(error), str(error))


@given(fields=_FIELDS)
@examples(300)
def test_fields_are_taken_strictly(fields: dict[str, Any]) -> None:
    """Even sealed, an unknown class, a missing field, one too many or one of another type is no report of ours."""
    found = from_text(_line(fields, SECRET), SECRET)
    needed = {"error", "message", "path"} if isinstance(found, SourceError) else {"error", "message"}

    assert found is None or (fields.keys() == needed and all(isinstance(value, str) for value in fields.values()))


@pytest.mark.parametrize("fields", [{}, {"error": 1}, {"error": "FileMissingError", "message": "gone"}])
def test_a_report_that_lacks_something(fields: dict[str, Any]) -> None:
    """It is none; nothing else is raised for it."""
    assert from_text(_line(fields, SECRET), SECRET) is None


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls not in REPORTED])
def test_a_job_reports_no_conflict(cls: type[BlockReadError]) -> None:
    """Who owns what is for the ledger to say: a conflict that a job raises is a failure of the job, to be retried."""
    assert from_text(_line({"error": cls.__name__, "message": "stop"}, SECRET), SECRET) is None
    found = from_text(as_line(cls("stop"), SECRET), SECRET)
    assert (type(found), str(found)) == (SparkJobError, "stop")


def test_an_error_of_ones_own_is_what_it_derives_from() -> None:
    """A custom format may derive an error; what crosses is the nearest one that both sides know."""

    class MyError(RecordError):
        """Of some user."""

    assert type(from_text(as_line(MyError("bad"), SECRET), SECRET)) is RecordError


def test_nothing_is_believed_without_a_secret() -> None:
    """Anybody can make such a line."""
    line = as_line(FileMissingError("gone", "/in/a"), "")
    assert from_text(line, "") is None
    assert isinstance(as_own_error(RuntimeError(line), ""), SparkJobError)


def test_a_long_message_is_cut() -> None:
    """Nobody reads megabytes, and no store keeps them."""
    found = from_text(as_line(RecordError("x" * 10**7), SECRET), SECRET)
    assert len(str(found)) == 10_000


@pytest.fixture
def submission(tmp_path: Path) -> Submission:
    """One in a folder of its own."""
    return Submission(spec_uri=f"file://{tmp_path}/job.json", spec_hash="00ff", secret=SECRET)


ERROR = FileMissingError("it is gone", "/in/a.csv")


def test_a_failure_file_comes_back_as_the_error(submission: Submission) -> None:
    """Airflow's side raises what the driver raised."""
    assert read_failure(Stores(), submission) is None
    write_failure(Stores(), submission, ERROR)
    found = read_failure(Stores(), submission)

    assert isinstance(found, FileMissingError)
    assert (str(found), found.path) == ("it is gone", "/in/a.csv")


@pytest.mark.parametrize("change", [{"secret": ""}, {"secret": FOREIGN}, {"spec_hash": "11ff"}])
def test_a_failure_file_of_another_attempt_is_not_believed(submission: Submission, change: dict[str, str]) -> None:
    """It is bound to the specification, which names the attempt, and sealed by the secret of the submission."""
    write_failure(Stores(), dataclasses.replace(submission, **change), ERROR)
    with pytest.raises(ExchangeError, match=r"error\.json was not written by the application of this attempt"):
        read_failure(Stores(), submission)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"error":1}',
        b'{"error": "FileMissingError", "message": "gone", "path": "/in/good.csv"}',
        b'{"failure": {}, "seal": "\xc3\xa9"}',
        b'{"failure": {}, "seal": 1}',
        b'{"failure": [], "seal": ""}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"failure": {"a": ' + b"[" * 900 + b"]" * 900 + b'}, "seal": ""}',
        b" " * 2_000_000,
    ],
)
def test_foreign_failure_files_are_not_believed(submission: Submission, data: bytes) -> None:
    """Any file there is refused by name, and nothing else is raised."""
    Path(submission.folder.removeprefix("file://"), "error.json").write_bytes(data)
    with pytest.raises(ExchangeError, match="find out who else writes to the work area"):
        read_failure(Stores(), submission)


def test_a_submission_shows_no_secret(submission: Submission) -> None:
    """It may stand in a log or a message."""
    assert SECRET not in repr(submission)


def test_conflicts_are_all_unreported() -> None:
    """A class that is added to the tree is one or the other."""
    assert all(issubclass(cls, ConflictError) or cls is BlockReadError for cls in CLASSES if cls not in REPORTED)


LOST_TASK = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0 in"
    " stage 1.0 (TID 7) (host executor driver)"
)
_LOST_EXECUTOR = f"{LOST_TASK}: ExecutorLostFailure (executor 3 exited caused by one of the running tasks) Reason:"
_FOR_MEMORY = "if it was killed for memory, raise spark.executor.memoryOverhead or lower"


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        ("ModuleNotFoundError: No module named 'pyarrow'", "'pyarrow'; install it on all workers for the Python of"),
        (
            "base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has another one than 3.11.",
            "3.11.; let spark.pyspark.python name the driver's version of Python on every worker; then retry",
        ),
        (
            'Job aborted due to stage failure: java.io.IOException: Cannot run program "/gone": error=2',
            "let spark.pyspark.python name a Python that is on every worker; then retry",
        ),
        (
            f'{LOST_TASK}: java.io.IOException: Cannot run program "/gone": error=2',
            "let spark.pyspark.python name a Python that is on every worker; then retry",
        ),
        (
            f"{LOST_TASK}: org.apache.spark.SparkException: Python worker exited unexpectedly (crashed).",
            "(crashed).; if it was killed for memory, raise spark.executor.memoryOverhead or lower",
        ),
        (f"{_LOST_EXECUTOR} Command exited with code 137", f"code 137; {_FOR_MEMORY}"),
        (f"{_LOST_EXECUTOR} Container killed by YARN for exceeding physical memory limits.", f"; {_FOR_MEMORY}"),
        (
            f"{_LOST_EXECUTOR} \nThe executor with id 3 exited with exit code 137(SIGKILL).\nThe API gave: no",
            f"Reason: The executor with id 3 exited with exit code 137(SIGKILL).; {_FOR_MEMORY}",
        ),
        ("MemoryError", "failed: MemoryError; raise spark.executor.pyspark.memory where it is set, or lower"),
        ("pyarrow.lib.ArrowMemoryError: malloc of size 64 failed", "64 failed; raise spark.executor.pyspark.memory"),
        (
            "Job aborted due to stage failure: Total size of serialized results of 9 tasks (1025.0 MiB) is too large",
            "too large; raise spark.driver.maxResultSize, then retry",
        ),
        (
            f"{LOST_TASK}: PythonWorkerException: Python worker process terminated due to idle timeout (timeout: 1)",
            "(timeout: 1); turn spark.python.worker.killOnIdleTimeout off",
        ),
        (f"{_LOST_EXECUTOR} worker lost", "; see Spark's log, then retry"),
        ("ValueError: Python worker exited unexpectedly", "; see Spark's log, then retry"),
        ("ValueError: no", "the Spark job failed: ValueError: no; see Spark's log, then retry"),
        ('ValueError: no number: Cannot run program "x"', "; see Spark's log, then retry"),
        ("KeyError: '[PYTHON_VERSION_MISMATCH]'", "; see Spark's log, then retry"),
        ("mine.ParseError: ModuleNotFoundError: No module named 'x'", "; see Spark's log, then retry"),
        (
            f'{LOST_TASK}: java.io.IOException: /in/Cannot run program "x" is gone',
            "; see Spark's log, then retry",
        ),
    ],
)
def test_what_is_wrong_with_a_python_is_said(said: str, advice: str) -> None:
    """The error advises what to install, or to name, and where; for all else, quoted data too, to look at the log."""
    text = (
        f"An error occurred while calling z:x.\n: org.apache.spark.SparkException: \nTraceback:\n{said}\n\n\tat org.x"
    )

    assert advice in str(as_own_error(RuntimeError(text), SECRET))


def test_an_exception_of_java_is_said() -> None:
    """That of a call to Spark, as when no master answers; the line before it only names the call."""
    text = (
        "An error occurred while calling z:a.b.\n: java.lang.IllegalStateException: it is shut down\n\tat a.b(c.scala)"
    )

    assert str(as_own_error(RuntimeError(text), SECRET)).startswith(
        "the Spark job failed: java.lang.IllegalStateException: it is shut down; see"
    )
