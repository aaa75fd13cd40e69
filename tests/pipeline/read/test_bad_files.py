"""Bad files: each case says what, where and what to do, publishes nothing; a retry then completes it."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from airflow_provider_blockread.errors import (
    BlockReadError,
    FileChangedError,
    FileMissingError,
    ProofError,
    RecordError,
    SourceError,
)
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.windows.exclusions import InPlan, exclude_file
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import Csv, Fixed, Lines
from airflow_provider_blockread.spark.inferring import SAMPLE_FILES
from airflow_provider_blockread.steps import WindowRef
from airflow_provider_blockread.steps.excluding import exclude
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe, ReadHere

_ALL = ["a1", "a2", "b1", "b2"]


def _fails(pipe: Pipe, error: type[BlockReadError], message: str) -> WindowRef:
    return pipe.fails(error, rf"(?s)^feed feed window \w{{16}}: (?=.*(?:{message}))")


def test_missing_source(here: Pipe) -> None:
    """A source that is not there is named; once it is there, the same key takes it."""
    here.source.rmdir()
    with pytest.raises(SourceError, match=rf"the source file://{here.source} does not exist; correct its path"):
        here.run()
    here.source.mkdir()
    here.put({"a.txt": b"1\n"})

    assert here.run().records == 1


class _Somebody(Stores):
    """Opens files as a person who is not root, to whom nothing is denied."""

    def open_read(self, uri: str) -> BinaryIO:
        """Return the file, if the kernel lets another process have it."""
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            return super().open_read(uri)
        finally:
            if root:
                os.seteuid(0)


def test_unreadable_file(two: Pipe) -> None:
    """A file that may not be read is named with what to do; readable again, the retry completes the window."""
    (two.source / "a.txt").chmod(0)
    two.submitter = ReadHere(_Somebody())
    ref = _fails(two, SourceError, r"file://.*/a\.txt: access denied; give the account.* then retry")
    (two.source / "a.txt").chmod(0o644)
    two.submitter = ReadHere()
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL


def test_file_changed_between_plan_and_read(two: Pipe) -> None:
    """Another version of a planned file is refused, with both versions named; put back, the retry completes."""
    stamp = (two.source / "b.txt").stat().st_mtime_ns
    ref = two.plan()
    two.put({"b.txt": b"longer than it was\n"})
    when = r"modified at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{9}Z"
    versions = rf"planned 6 bytes, {when}, found 19 bytes, {when}"
    with pytest.raises(FileChangedError, match=rf"b\.txt is no longer the version that was planned: {versions}"):
        two.read(ref)
    two.put({"b.txt": b"b1\nb2\n"})
    os.utime(two.source / "b.txt", ns=(stamp, stamp))
    assert [outcome.done_before for outcome in two.read(ref)] == [True, False]
    two.commit(ref)

    assert two.values() == _ALL


def test_file_deleted_between_plan_and_read(two: Pipe) -> None:
    """A planned file that is gone is refused by name; excluded by hand, the retry completes without it."""
    two.plan()
    (two.source / "b.txt").unlink()
    ref = _fails(two, FileMissingError, r"b\.txt does not exist; restore it, or exclude it .*blockread windows exclude")
    exclude_file(two.env.ledger, ref.window, two.uri("b.txt"), reason="gone", who="me", plan=InPlan([1]))
    two.read(ref)
    done = two.commit(ref)

    assert (two.values(), done.files, done.excluded) == (["a1", "a2"], 1, 1)


@pytest.mark.parametrize("policy", ["fail", "exclude"])
def test_file_that_only_tasks_miss(two: Pipe, policy: str) -> None:
    """As on a Spark worker that has not mounted the source: nobody is told to exclude a file that is there."""
    path = two.source / "b.txt"

    class Elsewhere(ReadHere):
        def submit(self, submission: Submission, *, name: str) -> None:
            away = path.rename(two.folder / "away")
            try:
                super().submit(submission, name=name)
            finally:
                away.rename(path)

    two.with_policies(on_missing=policy)
    two.submitter = Elsewhere()
    says = (
        r"b\.txt does not exist, says a Spark task, but this process finds it as it was planned; let every Spark worker"
    )
    ref = _fails(two, FileMissingError, rf"{says} open the source under the same URI, then retry$")
    two.submitter = ReadHere()
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL


def test_file_truncated_while_it_is_read(two: Pipe) -> None:
    """A file that is cut short under an unchanged identity is reported by the read itself, with the range asked for."""
    ref = two.plan()
    path = two.source / "b.txt"
    stamp = path.stat().st_mtime_ns

    class Cut(io.FileIO):
        """A file that a person cuts short between its opening and its first read."""

        def readinto(self, buffer: Any) -> int | None:
            path.write_bytes(b"b1")
            return super().readinto(buffer)

        def read(self, size: int | None = -1) -> bytes | None:  # type: ignore[override]
            path.write_bytes(b"b1")
            return super().read(-1 if size is None else size)

    class Cutting(Stores):
        def open_read(self, uri: str) -> BinaryIO:
            return cast("BinaryIO", Cut(path)) if uri.endswith("b.txt") else super().open_read(uri)

    two.submitter = ReadHere(Cutting())
    with pytest.raises(
        FileChangedError, match=r"b\.txt is shorter than planned: requested bytes \[0, \d\) of 6, got 2"
    ):
        two.read(ref)
    path.write_bytes(b"b1\nb2\n")
    os.utime(path, ns=(stamp, stamp))
    two.submitter = ReadHere()
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL


def test_file_changed_after_its_read(two: Pipe) -> None:
    """A file that changes between its read and the proof is refused; excluded, the rest is published."""
    ref = two.plan()
    two.read(ref)
    two.put({"b.txt": b"another content\n"})
    with pytest.raises(
        ProofError, match=r"feed feed window .*/b\.txt block 1 bytes \[0, 6\): the file was changed.* windows exclude"
    ):
        two.commit(ref)
    assert (two.published(), two.state()) == ([], "failed")
    exclude_file(two.env.ledger, ref.window, two.uri("b.txt"), reason="changed", who="me", plan=InPlan([1]))
    two.read(ref)
    two.commit(ref)

    assert two.values() == ["a1", "a2"]


def test_fixed_file_of_odd_length(two: Pipe) -> None:
    """A file that ends inside a record is refused at its byte; the right length makes a new generation."""
    two.record_format = Fixed(length=4)
    _fails(two, RecordError, r"a\.txt ends inside the fixed record that starts at byte 4: .*short_last='keep'")
    two.record_format = Fixed(length=3)
    done = two.run()

    assert (done.generation, two.values()) == (2, ["a1\n", "a2\n", "b1\n", "b2\n"])


def test_invalid_utf8(two: Pipe) -> None:
    """Bytes that are no text are refused at their byte, and published as they are where that is asked for."""
    two.put({"b.txt": b"b1\n\xffb\n"})
    _fails(two, RecordError, r"record at byte 3 of file://.*b\.txt block 1 .*not UTF-8.*reprocess --window")
    two.record_format = Lines(encoding="binary")
    two.run()

    assert two.values() == [b"a1", b"a2", b"b1", b"\xffb"]


@pytest.mark.parametrize("policy", ["fail", "exclude"])
@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo])
def test_a_clear_when_a_file_has_become_something_else(here: Pipe, policy: str, make: Callable[[Path], None]) -> None:
    """A folder or a pipe is no corrected file: the window goes on without it, as without one that is gone."""
    here.put({"a.txt": b"a\n", "b.txt": b"b\n"})
    here.plan()
    place = here.source / "b.txt"
    place.unlink()
    make(place)
    here.with_policies(on_changed=policy)
    ref = here.plan(clear_number=1)
    if policy == "fail":
        with pytest.raises(
            FileChangedError, match=r"where a file is needed.*exclude it with `blockread windows exclude"
        ):
            here.read(ref)
        window = get_window(here.env.ledger, "w", here.feed)
        exclude(here.env, window, here.uri("b.txt"), reason="changed", who="me")
        ref = here.plan(clear_number=2)
    here.read(ref)

    assert (here.commit(ref).excluded, here.values()) == (1, ["a"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32-le", "cp037"])
def test_the_line_of_a_bad_record_is_that_of_its_encoding(here: Pipe, encoding: str) -> None:
    """CR and LF are code units: neither bytes of other characters nor the two of CRLF count as lines of their own."""
    wide = "1,\u010a\u0d0a" if encoding.startswith("utf") else "1,a"
    here.record_format = Csv(schema="id long, msg string", encoding=encoding)
    here.put({"a.csv": f"{wide}\r\n2,b\r3,c\nx,d\r\n".encode(encoding)})

    _fails(here, RecordError, r"csv record at byte \d+ of \S+ block 0 bytes \S+ \d+\), line 4: column 'id'")


def test_a_column_that_the_sample_lacks_is_refused_or_kept(here: Pipe) -> None:
    """By name, other fields are left out where a schema is declared; nobody left out what the sample did not show."""
    here.put({f"{number:02}.csv": b"a,b\n1,2\n" for number in range(SAMPLE_FILES)} | {"z.csv": b"b,c,a\n2,3,1\n"})
    here.record_format = Csv(header=True, columns="by_name")
    here.fails(RecordError, r"z\.csv: the header has column 'c', which is none of 'a', 'b'; declare a schema with it")
    here.record_format = Csv(header=True, columns="by_name", rescue=True)
    here.run(clear_number=1)

    assert sorted(filter(None, (row["_rescued"] for row in here.rows()))) == ['{"/c":"3"}']
    here.record_format = Csv(header=True, columns="by_name", schema="a long, b long")
    here.run(clear_number=2)
    assert here.rows() == [{"a": 1, "b": 2}] * (SAMPLE_FILES + 1)
