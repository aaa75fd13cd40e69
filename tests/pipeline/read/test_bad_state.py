"""Bad plans, results and owners: each is named, publishes nothing; once that is fixed, a retry completes it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import (
    ConflictError,
    ExchangeError,
    FencedError,
    OwnedError,
    SparkJobError,
    WrongLedgerError,
)
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.ledger.windows.publishing import claim_publication
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.steps import Caller, Environment, commit, read
from tests.pipeline.make import Pipe, ReadHere

_ALL = ["a1", "a2", "b1", "b2"]


class _Dies(ReadHere):
    """An application that ends without a result, like one that was killed."""

    def submit(self, submission: Submission, *, name: str) -> None:
        self.attempts += 1
        if self.attempts == 1:
            return
        if self.attempts == 2:
            msg = f"{name} was killed; see its log, then retry"
            raise SparkJobError(msg)
        super().submit(submission, name=name)


def test_application_without_a_result(two: Pipe) -> None:
    """An application that leaves no result, or fails for Spark's reasons, is reported; a retry completes it."""
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
class TestCorruptManifest:
    """A manifest that is not what was planned stops every step by name."""

    def test_written_again(self, two: Pipe, harm: Callable[[Path], None]) -> None:
        """The plan writes it again from the ledger, the same to the byte, and a retry completes the window."""
        ref = two.plan()
        [manifest] = two.work.rglob("manifest-*.parquet")
        planned = manifest.read_bytes()
        harm(manifest)
        with pytest.raises(ExchangeError, match=rf"manifest file://{manifest} is .*clear the run from its plan on"):
            two.read(ref)
        two.read(two.plan())
        assert manifest.read_bytes() == planned
        harm(manifest)
        with pytest.raises(ExchangeError, match=rf"manifest file://{manifest} is "):
            two.commit(ref)
        assert (two.published(), two.state()) == ([], "failed")
        two.commit(two.plan())

        assert two.values() == _ALL

    def test_never_another_plan(self, two: Pipe, harm: Callable[[Path], None]) -> None:
        """Under other splitting it would be another plan, so it is not written; put back by hand, all continues."""
        two.plan()
        [manifest] = two.work.rglob("manifest-*.parquet")
        planned = manifest.read_bytes()
        harm(manifest)
        two.block_size = 3
        with pytest.raises(ExchangeError, match="with the same splitting as before"):
            two.plan()
        manifest.write_bytes(planned)
        two.run()

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

        def submit(self, submission: Submission, *, name: str) -> None:
            super().submit(submission, name=name)
            self.attempts += 1
            if self.attempts == 1:
                two.attempt_files("result.json")[0].write_text(text)

    two.submitter = Foreign()
    ref = two.fails(ExchangeError, r"result file file://.*result\.json was not .*clear the group's task")
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL


def test_two_owners_of_a_group(two: Pipe) -> None:
    """A live foreign owner is a conflict that names it; once its heartbeat is stale its group is taken over."""
    ref = two.plan()
    group = GroupRef(window=ref.window, generation=1, group=1)
    other = claim_group(two.env.ledger, group, owner="another process", clear_number=0, stale_after_s=60)
    assert other is not None
    with pytest.raises(
        OwnedError, match=r"group 1 of window .*: another process is running it, last heartbeat 0 s ago"
    ):
        two.read(ref)
    with pytest.raises(ConflictError, match=r"groups 1 \(reading\) are not done"):
        two.commit(ref)
    two.pass_seconds(61)
    assert [outcome.epoch for outcome in two.read(ref)] == [1, 2]
    two.commit(ref)

    assert two.values() == _ALL


def test_group_that_is_taken_over_while_it_is_read(two: Pipe) -> None:
    """A process that lost a group to a newer epoch is stopped, and its result is not used."""
    ref = two.plan()

    class Slow(ReadHere):
        """Is overtaken by another owner during its first job."""

        def submit(self, submission: Submission, *, name: str) -> None:
            super().submit(submission, name=name)
            self.attempts += 1
            if self.attempts == 1:
                two.pass_seconds(61)
                read(two.env, ref, 0, caller=Caller(owner="the other"), job=two.job, submitter=ReadHere())

    two.job = SparkJob(heartbeat_s=59.0, stale_after_s=60.0)  # none comes between the clock and the other's claim
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
    claim_publication(two.env.ledger, ref.window, 1, owner="another process", stale_after_s=60)
    with pytest.raises(OwnedError, match="another process is publishing it"):
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
            read(other, ref, 0, caller=Caller(owner="test"), job=two.job, submitter=two.submitter)
    finally:
        other.ledger.close()
    two.read(ref)
    two.commit(ref)

    assert two.values() == _ALL
