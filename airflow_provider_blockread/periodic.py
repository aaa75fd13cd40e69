"""Calls that repeat in a thread while something else runs: heartbeats, and progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeating(call: Callable[[], bool], *, every_s: float, name: str, join_s: float | None = None) -> Iterator[None]:
    """Call `call` in a thread while the body runs, first after `every_s` seconds, until it returns False.

    Args:
        call: returns whether to call it again; it must not raise.
        every_s: seconds between two calls.
        name: name of the thread.
        join_s: seconds to wait, at the end of the body, for a call that has begun; None waits as long as it takes.
    """
    done = threading.Event()

    def run() -> None:
        while not done.wait(every_s) and call():
            pass

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(join_s)
