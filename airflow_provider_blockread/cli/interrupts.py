"""Signals that ask a command to end: it stops what it has begun, cleans up, and says so in one line."""

from __future__ import annotations

import signal

import pyarrow as pa

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupted(BaseException):
    """A signal asked the command to end. Not an `Exception`, so that nothing but cleaning up happens on its way."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}; run the same command again to continue")
        self.exit_code = 128 + number


def raise_on_signals() -> None:
    """Raise `Interrupted` in the main thread at the first of the signals; later ones do not cut the cleaning short.

    A signal that the caller ignores, as `nohup` does, stays ignored.
    """
    pa.enable_signal_handlers(False)  # pyarrow would raise KeyboardInterrupt in place of our handler  # noqa: FBT003
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)


def _interrupt(number: int, _frame: object) -> None:
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(number)
