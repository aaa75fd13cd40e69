"""Signals that end a command: it stops its work, cleans up, and prints one line."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.05


class Interrupted(BaseException):
    """A signal ended the command. Not an `Exception`, so that only clean-up code handles it."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}; run the same command again to continue")
        self.number = number
        self.exit_code = 128 + number


def exit_on_signals() -> None:
    """End the process immediately at the first signal, while there is nothing to clean up."""
    _handle(_exit)


def raise_on_signals() -> None:
    """Raise `Interrupted` in the main thread at the first signal; later ones do not interrupt the clean-up.

    A signal that the caller ignores, as `nohup` does, stays ignored.
    """
    import pyarrow as pa  # noqa: PLC0415 - slow to import, and `exit_on_signals` comes first

    pa.enable_signal_handlers(False)  # pyarrow would raise KeyboardInterrupt in place of our handler  # noqa: FBT003
    sys.unraisablehook = _raise_again
    _handle(_interrupt)


def _handle(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _exit(number: int, _frame: FrameType | None) -> None:
    stop = Interrupted(number)
    with suppress(OSError):  # the terminal may be gone
        os.write(2, f"blockread: {stop}\n".encode())
    os._exit(stop.exit_code)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    raise Interrupted(number)


def _raise_again(lost: sys.UnraisableHookArgs) -> None:
    """Raise `Interrupted` again a moment later if Python dropped it, as in a callback of a weak reference."""
    stop = lost.exc_value
    if not isinstance(stop, Interrupted):
        sys.__unraisablehook__(lost)
        return
    signal.signal(signal.SIGALRM, lambda _number, frame: _interrupt(stop.number, frame))
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
