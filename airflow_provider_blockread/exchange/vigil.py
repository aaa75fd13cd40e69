"""Determines from the outside whether a driver on a cluster has died."""

from __future__ import annotations

import time
from collections.abc import Callable

#: The minimum number of seconds without a new sign of life after which a driver that has left one counts as dead.
LEAST_PATIENCE_S = 60.0


class Vigil:
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
