"""Bad input: each case names what, where and what to do, publishes nothing, and is completed by a retry once mended."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from airflow_provider_blockread.errors import (
    BlockReadError,
    ConflictError,
    ExchangeError,
    FencedError,
    FileChangedError,
    FileMissingError,
    OwnedError,
    ProofError,
    RecordError,
    SourceError,
    SparkJobError,
    WrongLedgerError,
)
from airflow_provider_blockread.ledger.exclusions import exclude_file
from airflow_provider_blockread.ledger.groups import claim_group
from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.publishing import claim_publication
from airflow_provider_blockread.options import Fixed, Lines
from airflow_provider_blockread.steps import Environment, WindowRef, commit, read
from airflow_provider_blockread.storage.stores import Stores
from tests.pipeline.make import Pipe, ReadHere


@pytest.fixture
def two(here: Pipe) -> Pipe:
    """Two files in two groups."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    return here


_ALL = ["a1", "a2", "b1", "b2"]


def _fails(pipe: Pipe, error: type[BlockReadError], message: str) -> WindowRef:
    """Plan, and see the read fail and nothing published."""
    ref = pipe.plan()
    with pytest.raises(error, match=message):
        pipe.read(ref)
    with pytest.raises(ConflictError, match=r"are not done; clear their read tasks"):
        pipe.commit(ref)
    assert pipe.published() == []
    return ref


def test_missing_source(here: Pipe) -> None:
    """A source that is not there is named; once it is there, the same key takes it."""
    here.source.rmdir()
    with pytest.raises(SourceError, match=rf"the source file://{here.source} does not exist; correct its path"):
        here.run()
    here.source.mkdir()
    here.put({"a.txt": b"1\n"})

    assert here.run().records == 1


class _Somebody(Stores):
    """Opens files as somebody who is not root, to whom nothing is denied."""

    def open_read(self, uri: str) -> BinaryIO:
        """Return the file, if the kernel lets somebody else have it."""
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
    ref = _fails(two, SourceError, r"file://.*/a\.txt: access denied; let the account.* then retry")
    (two.source / "a.txt").chmod(0o644)
    two.submitter = ReadHere()
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL


def test_file_changed_between_plan_and_read(two: Pipe) -> None:
    """Another version of a planned file is refused, with both versions told; put back, the retry completes."""
    stamp = (two.source / "b.txt").stat().st_mtime_ns
    ref = two.plan()
    two.put({"b.txt": b"longer than it was\n"})
    with pytest.raises(FileChangedError, match=r"b\.txt is no longer the version that was planned: planned 6 bytes.*"):
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
    exclude_file(two.env.ledger, ref.window, two.uri("b.txt"), reason="gone", who="me", groups=[1])
    two.read(ref)
    done = two.commit(ref)

    assert (two.values(), done.files, done.excluded) == (["a1", "a2"], 1, 1)


def test_file_truncated_while_it_is_read(two: Pipe) -> None:
    """A file that is cut short under an unchanged identity is told by the read itself, with the range asked for."""
    ref = two.plan()
    path = two.source / "b.txt"
    stamp = path.stat().st_mtime_ns

    class Cut(Stores):
        """Opens a file just after somebody has cut it short."""

        def open_read(self, uri: str) -> BinaryIO:
            if uri.endswith("b.txt"):
                path.write_bytes(b"b1")
            return super().open_read(uri)

    two.submitter = ReadHere(Cut())
    with pytest.raises(
        FileChangedError, match=r"b\.txt is shorter than planned: asked for bytes \[0, \d\) of 6, got 2"
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
    exclude_file(two.env.ledger, ref.window, two.uri("b.txt"), reason="changed", who="me", groups=[1])
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
    _fails(two, RecordError, r"record at byte 3 of file://.*b\.txt block 1 .*not UTF-8.*clear the run")
    two.record_format = Lines(encoding="binary")
    two.run()

    assert two.values() == [b"a1", b"a2", b"b1", b"\xffb"]


class _Dies(ReadHere):
    """An application that ends without a result, like one that was killed."""

    def submit(self, spec_uri: str, *, name: str) -> None:
        self.attempts += 1
        if self.attempts == 1:
            return
        if self.attempts == 2:
            msg = f"{name} was killed; see its log, then retry"
            raise SparkJobError(msg)
        super().submit(spec_uri, name=name)


def test_application_without_a_result(two: Pipe) -> None:
    """An application that leaves no result, or fails for Spark's reasons, is told; the retry completes the group."""
    two.submitter = _Dies()
    ref = two.plan()
    with pytest.raises(ExchangeError, match=r"result file .*result\.json is missing; clear the group's task"):
        two.read(ref)
    with pytest.raises(SparkJobError, match="was killed"):
        two.read(ref)
    assert [outcome.epoch for outcome in two.read(ref)] == [3, 1]
    two.commit(ref)

    assert two.values() == _ALL


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("harm", [Path.unlink, _cut, _flip], ids=["missing", "truncated", "one bit"])
def test_corrupt_manifest(two: Pipe, harm: Callable[[Path], None]) -> None:
    """A manifest that is not what was planned stops every step by name; put back, the retry completes."""
    ref = two.plan()
    [manifest] = two.work.rglob("manifest-*.parquet")
    saved = manifest.with_suffix(".saved")
    shutil.copy(manifest, saved)
    harm(manifest)
    _fails(two, ExchangeError, rf"manifest file://{manifest} is .*put back what was planned")
    shutil.copy(saved, manifest)
    two.read(ref)
    harm(manifest)
    with pytest.raises(ExchangeError, match=r"manifest file://.*put back what was planned"):
        two.commit(ref)
    assert (two.published(), two.state()) == ([], "failed")
    shutil.copy(saved, manifest)
    two.commit(ref)

    assert two.values() == _ALL


@pytest.mark.parametrize("name", ["result.json", "receipts.parquet"])
@pytest.mark.parametrize("harm", [Path.unlink, _cut, _flip], ids=["missing", "truncated", "one bit"])
def test_corrupt_result(two: Pipe, name: str, harm: Callable[[Path], None]) -> None:
    """A result or receipt file that is not what the attempt left is refused; its group is read again when cleared."""
    ref = two.plan()
    two.read(ref)
    harm(path := two.attempt_files(name)[0])
    with pytest.raises(
        ExchangeError, match=rf"file file://{path} is .*clear the group's task so that it is read again"
    ):
        two.commit(ref)
    assert (two.published(), two.state()) == ([], "failed")
    two.read(ref, clear_number=1, groups=[0])
    two.commit(ref)

    assert two.values() == _ALL


@pytest.mark.parametrize("text", ["not json", "[]", "{}", '{"window": "other"}'])
def test_foreign_result(two: Pipe, text: str) -> None:
    """A result file of other content than this version writes is refused when its group is completed."""

    class Foreign(ReadHere):
        """Something else writes the first result."""

        def submit(self, spec_uri: str, *, name: str) -> None:
            super().submit(spec_uri, name=name)
            self.attempts += 1
            if self.attempts == 1:
                two.attempt_files("result.json")[0].write_text(text)

    two.submitter = Foreign()
    ref = _fails(two, ExchangeError, r"result file file://.*result\.json is not .*clear the group's task")
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL


def test_two_owners_of_a_group(two: Pipe) -> None:
    """A live foreign owner is a conflict that names it; once its heartbeat is stale its group is taken over."""
    ref = two.plan()
    group = GroupRef(window=ref.window, generation=1, group=1)
    other = claim_group(two.env.ledger, group, owner="somebody else", clear_number=0, stale_after_s=60)
    assert other is not None
    with pytest.raises(OwnedError, match=r"group 1 of window .*: somebody else is running it, last heartbeat 0 s ago"):
        two.read(ref)
    with pytest.raises(ConflictError, match=r"groups 1 \(running\) are not done"):
        two.commit(ref)
    two.pass_seconds(61)
    assert [outcome.epoch for outcome in two.read(ref)] == [1, 2]
    two.commit(ref)

    assert two.values() == _ALL


def test_group_that_is_taken_over_while_it_is_read(two: Pipe) -> None:
    """Whoever lost a group to a newer epoch is stopped, and its result is not used."""
    ref = two.plan()

    class Slow(ReadHere):
        """Is overtaken by another owner during its first job."""

        def submit(self, spec_uri: str, *, name: str) -> None:
            super().submit(spec_uri, name=name)
            self.attempts += 1
            if self.attempts == 1:
                two.pass_seconds(61)
                read(two.env, ref, 0, owner="the other", clear_number=0, job=two.job, submitter=ReadHere())

    two.submitter = Slow()
    with pytest.raises(FencedError, match=r"epoch 1 no longer holds it .*epoch 2 by the other.* stop"):
        two.read(ref)
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL
    assert {name.split("-")[4] for name in two.published()} == {"e1", "e2"}


def test_two_publishers(two: Pipe) -> None:
    """A live foreign publisher is a conflict that names it; once stale, the window is taken over."""
    ref = two.plan()
    two.read(ref)
    claim_publication(two.env.ledger, ref.window, 1, owner="somebody else", stale_after_s=60)
    with pytest.raises(OwnedError, match="somebody else is publishing it"):
        two.commit(ref)
    two.pass_seconds(200)
    two.commit(ref)

    assert two.values() == _ALL


def test_second_ledger(two: Pipe) -> None:
    """A step that reaches another ledger than the plan's refuses to work, and names both."""
    ref = two.plan()
    other: Environment = two.environment("other.db")
    try:
        with pytest.raises(WrongLedgerError, match=rf"planned in ledger {ref.ledger}, .*other\.db.*same ledger"):
            commit(other, ref, owner="test")
        with pytest.raises(WrongLedgerError, match="give all tasks of the run the same ledger connection"):
            read(other, ref, 0, owner="test", clear_number=0, job=two.job, submitter=two.submitter)
    finally:
        other.ledger.close()
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL
