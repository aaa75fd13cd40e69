"""File names, records and files that pose as errors of this package: they choose neither the error nor what follows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import (
    BlockReadError,
    ConflictError,
    FencedError,
    FileMissingError,
    FunctionError,
    OwnedError,
    PlanConflictError,
    RecordError,
    SourceError,
    SparkJobError,
    StateError,
)
from airflow_provider_blockread.exchange.failures import as_line, write_failure
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.results import RESULT_NAME
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from airflow_provider_blockread.options import ArrowFunction, Csv, CustomFormat
from airflow_provider_blockread.steps import WindowRef
from tests.pipeline.make import Pipe, ReadHere

_CONFLICTS = [FencedError, OwnedError, PlanConflictError, StateError, ConflictError]


def _line(**fields: object) -> str:
    return "blockread-failure " + json.dumps(fields, separators=(",", ":"))


def _fails_once(pipe: Pipe, error: type[BlockReadError], match: str = "") -> WindowRef:
    """See the read fail with this error after one attempt, which excludes nothing and holds nothing."""
    pipe.with_policies(on_missing="exclude", on_changed="exclude")
    ref = pipe.plan()
    with pytest.raises(error, match=match) as raised:
        pipe.read(ref)
    assert type(raised.value) is error
    states = {(group.state, group.epoch) for group in list_groups(pipe.env.ledger, ref.window, 1)}
    assert ("failed", 1) in states
    assert states <= {("failed", 1), ("pending", 0)}
    assert set(feed_counts(pipe.env.ledger, pipe.feed)) == {"planned"}
    return ref


@pytest.mark.spark
def test_a_file_name_forges_no_error(pipe: Pipe) -> None:
    r"""Spark quotes it with the traceback; `file:/\u002f/` is how a path in JSON stands in a path."""
    pipe.put({"good.csv": b"1,a\n2,b\n"})
    escaped = r"file:/\u002f" + str(pipe.source / "good.csv")
    name = _line(error="FileMissingError", message="gone", path="PATH").replace("PATH", escaped)
    assert json.loads(name.partition(" ")[2])["path"] == pipe.uri("good.csv")
    bad = Path(f"{pipe.source}/{name}.csv")
    bad.parent.mkdir(parents=True)
    bad.write_bytes(b"no number,c\n")
    pipe.record_format = Csv(schema="id long, msg string")
    _fails_once(pipe, RecordError, "correct the file or the format's options")


_FORGED = [
    _line(error="FileMissingError", message="gone", path="file://GOOD"),
    _line(error="FencedError", message="a newer epoch has taken over", path=""),
    _line(error=1),
    _line(error="BlockReadError", message=["x"]),
    as_line(FileMissingError("gone", "file://GOOD"), "") + "\n",
    "x" * 400_000 + _line(error="FencedError", message="", path=""),
]


@pytest.mark.spark
@pytest.mark.parametrize("record", _FORGED, ids=range(len(_FORGED)))
def test_a_quoted_record_forges_no_error(pipe: Pipe, record: str) -> None:
    """A user's function raises with the record in its message, as functions do: that is the function's error."""
    pipe.put({"good.txt": b"fine\n"})
    pipe.put({"bad.txt": record.replace("file://GOOD", pipe.uri("good.txt")).encode()})
    pipe.function = ArrowFunction("user_functions:quotes")
    _fails_once(pipe, FunctionError, r"function user_functions:quotes raised ValueError: cannot parse ")


class _Fails(ReadHere):
    """An application that ends with an error, and may leave files first."""

    def __init__(self, error: BlockReadError, files: dict[str, bytes] | None = None) -> None:
        super().__init__()
        self.error, self.files = error, files or {}

    def submit(self, submission: Submission, *, name: str) -> None:
        del name
        self.attempts += 1
        for file, data in self.files.items():
            Path(submission.folder.removeprefix("file://"), file).write_bytes(data)
        raise self.error


@pytest.mark.parametrize("cls", _CONFLICTS)
def test_no_job_takes_a_group_away(here: Pipe, cls: type[BlockReadError]) -> None:
    """A job that names a conflict has failed; its group is not left as if another process were reading it."""
    here.put({"a.txt": b"a\n"})
    here.submitter = _Fails(cls("stop"))
    ref = _fails_once(here, SparkJobError, "stop")
    here.submitter = ReadHere()
    here.read(ref)
    here.commit(ref)

    assert here.values() == ["a"]


@pytest.mark.parametrize("path", ["a.txt", "b.txt", "elsewhere.txt"])
@pytest.mark.parametrize("scans", [False, True])
def test_what_is_intact_is_not_excluded(here: Pipe, path: str, *, scans: bool) -> None:
    """A job, however it came to that, calls a file missing that is as it was planned: the policy excludes nothing."""
    here.put({"a.txt": b'"a\na"\n' * 4, "b.txt": b"b\n"})
    if scans:
        here.record_format, here.block_size, here.group_bytes = CustomFormat(path="quoted_lines:QuotedLines"), 6, 12
    here.submitter = submitter = _Fails(FileMissingError("it is gone", here.uri(path)))
    _fails_pending = _excludes_nothing if scans else _fails_once
    _fails_pending(here, FileMissingError, "it is gone")

    assert submitter.attempts == 1


def _excludes_nothing(pipe: Pipe, error: type[BlockReadError], match: str) -> None:
    pipe.with_policies(on_missing="exclude")
    ref = pipe.plan()
    assert ref.needs_scan
    with pytest.raises(error, match=match):
        pipe.read(ref)
    assert set(feed_counts(pipe.env.ledger, pipe.feed)) == {"planned"}


@pytest.mark.parametrize("scans", [False, True])
def test_each_try_reads_fewer_files(here: Pipe, *, scans: bool) -> None:
    """A job that continues naming a file that was excluded ends with its error, after one further try."""
    here.put({"a.txt": b'"a\na"\n' * 4, "b.txt": b"b\n"})
    if scans:
        here.record_format, here.block_size, here.group_bytes = CustomFormat(path="quoted_lines:QuotedLines"), 6, 12
    here.with_policies(on_missing="exclude")
    ref = here.plan()
    (here.source / "b.txt").unlink()
    here.submitter = submitter = _Fails(FileMissingError("it is gone", here.uri("b.txt")))
    with pytest.raises(FileMissingError, match="it is gone"):
        here.read(ref)

    assert submitter.attempts == 2
    assert feed_counts(here.env.ledger, here.feed) == {"planned": 1, "missing": 1}


@pytest.mark.parametrize(
    "left",
    [
        b'{"error":1}',
        json.dumps({"error": "FileMissingError", "message": "gone", "path": "GOOD"}).encode(),
        json.dumps({"failure": {"error": "FencedError", "message": "stop"}, "seal": "0" * 64}).encode(),
        b"[" * 100_000,
    ],
)
def test_a_foreign_failure_file_is_not_believed(here: Pipe, left: bytes) -> None:
    """What the application ended with is the error; the log names the file."""
    here.put({"good.txt": b"a\n"})
    files = {"error.json": left.replace(b"GOOD", here.uri("good.txt").encode())}
    here.submitter = _Fails(SparkJobError("it was killed"), files)
    _fails_once(here, SparkJobError, "it was killed")

    [warning] = here.warnings
    assert "error.json was not written by the application of this attempt" in warning


def test_the_failure_of_another_attempt_is_not_believed(here: Pipe) -> None:
    """A file that an attempt sealed, copied to the next one, says nothing of it."""
    here.put({"a.txt": b"a\n"})
    kept: list[bytes] = []

    class Copies(_Fails):
        """Leaves a failure of its own, and then that one again."""

        def submit(self, submission: Submission, *, name: str) -> None:
            if not kept:
                write_failure(self.stores, submission, RecordError("of the first"))
                kept.append(self.stores.read_bytes(f"{submission.folder}/error.json"))
            else:
                self.files = {"error.json": kept[0]}
            super().submit(submission, name=name)

    here.submitter = Copies(SparkJobError("of the second"))
    ref = _fails_once(here, RecordError, "of the first")
    with pytest.raises(SparkJobError, match="of the second"):
        here.read(ref)


def test_a_failed_application_has_no_result(here: Pipe) -> None:
    """The end of an application counts before what is in its folder."""
    here.put({"a.txt": b"a\n"})
    here.submitter = _Fails(SourceError("denied"), {RESULT_NAME: b"{}"})
    _fails_once(here, SourceError, "denied")
