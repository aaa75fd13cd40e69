"""The progress of an attempt: a small file that its driver keeps replacing, and that people alone depend on.

It is sealed like all that an application leaves. What is read from it is a set of plausible numbers, or nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict

from airflow_provider_blockread.errors import FileMissingError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.seals import sealed, unsealed
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.storage.stores import Stores

PROGRESS_NAME = "progress.json"
#: Seconds between two progress files.
EVERY_S = 5.0
_NAME = "progress"
_MAX_BYTES = 2**10  # of a file; ours are smaller
_MOST = 2**53  # of a count: what JSON and every database can hold


class ProgressFile:
    """Leaves the progress of an attempt, now and then, and never hinders the attempt."""

    def __init__(self, stores: Stores, submission: Submission, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the place of the file; `clock` returns seconds."""
        self._stores, self._submission, self._clock = stores, submission, clock
        self._left, self._due = Tally(), clock() + EVERY_S

    def leave(self, tally: Tally) -> None:
        """Leave what has been read so far, if it is news and some seconds have passed since the last time."""
        now = self._clock()
        if tally in (self._left, Tally()) or now < self._due:
            return
        self._left, self._due = tally, now + EVERY_S
        with suppress(Exception):  # of any store
            write_progress(self._stores, self._submission, tally)


def write_progress(stores: Stores, submission: Submission, tally: Tally) -> None:
    """Write what an attempt has read so far, in the place of what it left before."""
    data = sealed(_NAME, asdict(tally), secret=submission.secret, bound=submission.spec_hash)
    stores.write_bytes_atomic(_uri(submission), data)


def read_progress(stores: Stores, submission: Submission) -> Tally | None:
    """Return what the application of a submission says it has read; None if it says nothing that can be."""
    uri = _uri(submission)
    try:
        if stores.stat(uri).size > _MAX_BYTES:
            return None
        fields = unsealed(_NAME, stores.read_bytes(uri), secret=submission.secret, bound=submission.spec_hash)
    except FileMissingError:
        return None
    if fields is None or fields.keys() != asdict(Tally()).keys():
        return None
    if not all(type(number) is int and 0 <= number < _MOST for number in fields.values()):
        return None
    tally = Tally(**fields)
    return tally if tally.bad_records <= tally.records else None


def _uri(submission: Submission) -> str:
    return f"{submission.folder}/{PROGRESS_NAME}"
