"""Copies the progress that a driver writes into the ledger; its claim is kept alive elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.progress import DriverProgress, read_progress
from airflow_provider_blockread.ledger.model import Claim
from airflow_provider_blockread.ledger.windows.groups import record_progress
from airflow_provider_blockread.periodic import repeating
from airflow_provider_blockread.steps.model import Environment

_LAST_COPY_S = 1.0  # to wait, at the end of the work, for a copy that has begun


def copy_progress(
    env: Environment, claim: Claim, submission: Submission, before: DriverProgress | None = None
) -> DriverProgress | None:
    """Record what the driver of an attempt has read, unless it equals `before`, and return it."""
    found = read_progress(env.stores, submission)
    if found is not None and found != before:
        record_progress(env.ledger, claim, found.tally, application=found.application.id, ui=found.application.ui)
    return found


@contextmanager
def showing(env: Environment, claim: Claim, submission: Submission, *, interval_s: float) -> Iterator[None]:
    """Record the progress in the ledger every `interval_s` seconds while the body runs.

    This runs in a separate thread, since a store that hangs must not delay a heartbeat; failed copies are ignored.
    """
    last: DriverProgress | None = None

    def copy() -> bool:
        nonlocal last
        with suppress(Exception):
            last = copy_progress(env, claim, submission, last)
        return True

    with repeating(copy, every_s=interval_s, name="blockread-progress-watch", join_s=_LAST_COPY_S):
        yield
