"""Judging by what can be seen from outside whether a driver on a cluster has died."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds without a new sign of life after which a driver that has left one counts as dead, if its job says no more.
LEAST_PATIENCE_S = 60.0


class Vigil:
    """Judges, poll after poll, whether an application will still leave a result or an error."""

    def __init__(self, name: str, *, stale_after_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin to wait.

        Args:
            name: of the application.
            stale_after_s: seconds without a heartbeat after which its job counts as dead.
            clock: returns seconds.
        """
        self._name, self._clock = name, clock
        self._patience_s = max(stale_after_s, LEAST_PATIENCE_S)
        self._sign, self._since = "", clock()
        self._status = ""

    def problem(self, sign: str, status: str) -> str:
        """Return why the application, which has left neither result nor error, will leave none; empty while it may.

        Args:
            sign: the driver's newest sign of life; empty before the first.
            status: how the application ended, as its cluster says; empty while it runs, or if that is not known.
        """
        before, self._status = self._status, status
        if sign != self._sign:
            self._sign, self._since = sign, self._clock()
        if status and before:  # it leaves its files before it ends, but perhaps after the poll that saw the end first
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
