"""Small files in the folder of a job through which Airflow's side and a driver on a cluster communicate.

The driver keeps changing its sign of life, and ends when it finds a stop file. A stop file is bound to the job
specification that was submitted, so that a stop file for another attempt has no effect.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.exchange.files import read_small
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.exchange.seals import sealed, unsealed
from airflow_provider_blockread.storage.stores import Stores

STOP_NAME = "stop.json"
SIGN_NAME = "alive.txt"
_NAME = "stop"
#: The minimum number of seconds without a new sign of life after which a driver that has left one counts as dead.
LEAST_PATIENCE_S = 60.0


def write_stop(stores: Stores, submission: Submission, why: str) -> None:
    """Make the driver of a submission end, now or as soon as it starts."""
    data = sealed(_NAME, {"why": why}, secret=submission.secret, bound=submission.spec_hash)
    stores.write_bytes_atomic(f"{submission.folder}/{STOP_NAME}", data)


def read_stop(stores: Stores, submission: Submission) -> str | None:
    """Return why the driver of a submission must end, or None while it may continue."""
    data = _content(stores, f"{submission.folder}/{STOP_NAME}")
    fields = unsealed(_NAME, data, secret=submission.secret, bound=submission.spec_hash)
    return None if fields is None else str(fields.get("why"))


def write_sign(stores: Stores, submission: Submission, sign: str) -> None:
    """Write a sign of life, replacing the previous one."""
    stores.write_bytes_atomic(f"{submission.folder}/{SIGN_NAME}", sign.encode())


def read_sign(stores: Stores, submission: Submission) -> str:
    """Return the newest sign of life, or an empty string before the first one."""
    return _content(stores, f"{submission.folder}/{SIGN_NAME}").decode("utf-8", "replace")


def _content(stores: Stores, uri: str) -> bytes:
    """Return the content of a small file, or no bytes if something else is there."""
    try:
        return read_small(stores, uri)
    except SourceError:
        if stores.holds_file(uri):
            raise
        return b""


class Watchdog:
    """Determines, poll after poll, whether an application will still write a result or an error."""

    def __init__(self, name: str, *, stale_after_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to wait.

        Args:
            name: the application's name.
            stale_after_s: seconds without a heartbeat after which its job counts as dead.
            clock: returns seconds.
        """
        self._name, self._clock = name, clock
        self._patience_s = max(stale_after_s, LEAST_PATIENCE_S)
        self._sign, self._since = "", clock()
        self._status = ""

    def problem(self, sign: str, status: str) -> str:
        """Return why an application without result and error will never write any; empty while it still may.

        Args:
            sign: the driver's newest sign of life; empty before the first.
            status: how the application ended, in its cluster's words; empty while it runs or if this is not known.
        """
        before, self._status = self._status, status
        if sign != self._sign:
            self._sign, self._since = sign, self._clock()
        if status and before:  # it writes its files before it ends, but perhaps after the poll that first saw the end
            return (
                f"{self._name}: the application has ended as {status} on its cluster and left neither a result nor an"
                " error; see its log there, fix the cause and retry"
            )
        silent_s = self._clock() - self._since
        if sign and silent_s > self._patience_s:
            return (
                f"{self._name}: the driver has left no sign of life in the work area for {silent_s:.0f} s; see its log"
                " on the cluster, fix the cause and retry"
            )
        return ""
