"""Recording the progress that a driver writes in the ledger, while something else keeps its claim alive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.progress import DriverProgress, read_progress
from airflow_provider_blockread.ledger.model import Claim
from airflow_provider_blockread.ledger.windows.groups import record_progress
from airflow_provider_blockread.steps.model import Environment

_LAST_COPY_S = 1.0  # that the end of the work waits for a copy that has begun


def copy_progress(
    env: Environment, claim: Claim, submission: Submission, before: DriverProgress | None = None
) -> DriverProgress | None:
    """Record what the driver of an attempt has read, unless that is what it had read before; return it."""
    found = read_progress(env.stores, submission)
    if found is not None and found != before:
        record_progress(env.ledger, claim, found.tally, application=found.application.id, ui=found.application.ui)
    return found


@contextmanager
def showing(env: Environment, claim: Claim, submission: Submission, *, interval_s: float) -> Iterator[None]:
    """Record the progress in the ledger every `interval_s` seconds while the body runs.

    It has a thread of its own: a store that hangs must not delay a heartbeat, and a copy that fails is not missed.
    """
    done = threading.Event()

    def copy() -> None:
        last: DriverProgress | None = None
        while not done.wait(interval_s):
            with suppress(Exception):
                last = copy_progress(env, claim, submission, last)

    thread = threading.Thread(target=copy, name="blockread-progress-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(_LAST_COPY_S)
