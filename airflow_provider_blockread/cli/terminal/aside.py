"""Keeping what user code prints out of a command's output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout, suppress

_STDOUT, _STDERR = 1, 2


@contextmanager
def printing_aside() -> Iterator[None]:
    """Send to standard error what the body prints, and the programs that it starts, for as long as these run.

    Functions, formats and sinks of users print, as do DataFrames that they show; the command's own output follows.
    """
    stdout = sys.__stdout__
    if stdout is None or sys.__stderr__ is None:  # closed by the caller, so that any file may have these numbers
        yield
        return
    stdout.flush()
    kept = os.dup(_STDOUT)
    os.dup2(_STDERR, _STDOUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        with suppress(OSError):  # the terminal may be gone
            stdout.flush()  # what went past `sys.stdout`
        os.dup2(kept, _STDOUT)
        os.close(kept)
