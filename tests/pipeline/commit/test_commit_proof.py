"""Commit and the proof: harmed or foreign evidence in the work area is refused, and nothing is published."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlalchemy import select

from airflow_provider_blockread.errors import ExchangeError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger.schema.tables import files
from tests.pipeline.make import Pipe


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def test_commit_publishes_what_is_proven(here: Pipe) -> None:
    """The proof's sums are the window's, and the ledger keeps those of each file."""
    here.put({"a.txt": b"a\nb\n", "b.txt": b"c\n"})
    here.with_policies(proof="digest")
    here.block_size, here.group_bytes = 2, 4
    ref = here.plan()
    here.read(ref)
    done = here.commit(ref)

    kept = select(files.c.records, files.c.bad_records).order_by(files.c.id)
    with here.env.ledger.reading() as connection:
        of_files = [tuple(row) for row in connection.execute(kept)]

    assert (done.records, done.rows, done.bytes, done.proof) == (3, 3, 6, "proven")
    assert of_files == [(2, None), (1, None)]


@pytest.fixture
def read_window(here: Pipe) -> Iterator[Pipe]:
    """A window of two groups that is read and waits for its proof."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.group_bytes = 6
    here.read(here.plan())
    yield here
    assert here.published() == []
    assert here.state() == "failed"


@pytest.mark.parametrize("name", ["receipts.parquet", "result.json"])
@pytest.mark.parametrize("harm", [Path.unlink, _truncate], ids=["missing", "truncated"])
def test_commit_refuses_harmed_evidence(read_window: Pipe, name: str, harm: Callable[[Path], None]) -> None:
    """A receipt or result file that is not what the attempt wrote is refused by name; nothing is published."""
    path = read_window.attempt_files(name)[1]
    harm(path)

    with pytest.raises(ExchangeError, match=rf"{path}.*clear the group's task"):
        read_window.commit(read_window.plan())


def test_commit_refuses_receipts_of_another_epoch(here: Pipe) -> None:
    """Receipts of an earlier attempt cannot stand in for those of the one that was completed."""
    here.put({"a.txt": b"a1\na2\n"})
    ref = here.plan()
    here.read(ref)
    here.put({"b.txt": b"x\n"})
    here.read(ref, clear_number=1)
    first, second = here.attempt_files("receipts.parquet")
    assert (first.parent.name[-2:], second.parent.name[-2:]) == ("e1", "e2")
    receipts = pq.read_table(first)
    pq.write_table(receipts.set_column(9, "records", pa.array([3])), first)
    second.write_bytes(first.read_bytes())

    with pytest.raises(ExchangeError, match=rf"receipt file file://{second} is corrupt or was replaced"):
        here.commit(ref)
    assert here.published() == []


def test_commit_refuses_a_result_of_another_epoch(here: Pipe) -> None:
    """A result of an earlier attempt is refused when its group is completed."""
    here.put({"a.txt": b"a1\na2\n"})
    ref = here.plan()
    here.read(ref)

    class Zombie(type(here.submitter)):  # type: ignore[misc]
        """Leaves the first attempt's result in place of its own."""

        def submit(self, submission: Submission, *, name: str) -> None:
            super().submit(submission, name=name)
            first, second = here.attempt_files("result.json")
            second.write_bytes(first.read_bytes())

    here.submitter = Zombie()
    with pytest.raises(
        ExchangeError, match="was not written by the application of this attempt; clear the group's task"
    ):
        here.read(ref, clear_number=1)
    assert here.published() == []
