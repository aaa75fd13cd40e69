"""A ledger that cannot be used for a while, as while its database restarts."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

from airflow_provider_blockread.errors import ProofError, SparkJobError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.ledger import dialect
from airflow_provider_blockread.steps.commit import committing
from tests.pipeline.make import Pipe, ReadHere


class _ThenOut(ReadHere):
    """Another process locks the ledger at the end of the work, for this many seconds, or until the test's end."""

    def __init__(self, file: Path, seconds: float = 1000.0, error: Exception | None = None) -> None:
        super().__init__()
        self._other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._timer = threading.Timer(seconds, self.end)
        self._error = error

    def submit(self, submission: Submission, *, name: str) -> None:
        """Run the job, and cause the outage."""
        super().submit(submission, name=name)
        self.begin()
        if self._error is not None:
            raise self._error

    def begin(self) -> None:
        """Begin the outage."""
        self._other.execute("BEGIN IMMEDIATE")
        self._timer.start()

    def end(self) -> None:
        """End the outage."""
        self._timer.cancel()
        with suppress(sqlite3.OperationalError):
            self._other.execute("ROLLBACK")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction gives up soon."""
    monkeypatch.setattr(dialect, "_BUSY_TIMEOUT_S", 0.05)


def test_a_group_that_was_read_during_an_outage(here: Pipe) -> None:
    """It is completed once the ledger is back, rather than read again."""
    here.put({"a.txt": b"a\nb\n"})
    ref = here.plan()
    here.submitter = _ThenOut(here.folder / "ledger.db", 0.5)
    assert [(done.epoch, done.records) for done in here.read(ref)] == [(1, 2)]

    here.commit(ref)
    assert here.values() == ["a", "b"]


def test_an_error_during_an_outage(here: Pipe) -> None:
    """It is reported, and not that it could not be recorded; the same task's next try takes over."""
    here.put({"a.txt": b"a\n"})
    ref = here.plan()
    here.submitter = out = _ThenOut(here.folder / "ledger.db", error=SparkJobError("no memory"))
    with pytest.raises(SparkJobError, match="no memory"):
        here.read(ref)
    out.end()
    here.submitter = ReadHere()

    assert [done.epoch for done in here.read(ref)] == [2]
    here.commit(ref)
    assert here.values() == ["a"]


def test_a_proof_that_fails_during_an_outage(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is reported, too."""
    here.put({"a.txt": b"a\n"})
    ref = here.plan()
    here.read(ref)
    out = _ThenOut(here.folder / "ledger.db")

    def refuse(_: object) -> NoReturn:
        out.begin()
        msg = "a gap"
        raise ProofError(msg)

    with monkeypatch.context() as patched:
        patched.setattr(committing, "prove", refuse)
        with pytest.raises(ProofError, match="a gap"):
            here.commit(ref)
    out.end()

    here.commit(ref)
    assert here.values() == ["a"]
