"""The heartbeat of a claim, which goes on whatever happens to one of its beats."""

from __future__ import annotations

import threading

import pytest

from airflow_provider_blockread.errors import LedgerSchemaError
from airflow_provider_blockread.steps.heartbeat import beating


def test_a_beat_that_fails_is_logged_and_the_next_one_follows(caplog: pytest.LogCaptureFixture) -> None:
    """Otherwise the owner would seem dead in the middle of its work."""
    beats, done = [], threading.Event()

    def beat() -> None:
        beats.append("beat")
        if len(beats) == 3:
            done.set()
        msg = "attempt to write a readonly database"
        raise LedgerSchemaError(msg)

    with beating(beat, interval_s=0.01, on_lost=done.set):
        assert done.wait(60)

    assert len(beats) >= 3
    assert "attempt to write a readonly database" in caplog.text
