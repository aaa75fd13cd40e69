"""Garbage collection of a process while it makes millions of short-lived objects, and at its end."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

_YOUNG = 5_000  # objects; with fewer collections, results of queries would pile up
_OF_PYTHON = 1_000  # objects; Python 3.12 itself freezes a few hundred when it starts


@contextmanager
def settled_heap() -> Iterator[None]:
    """Exclude existing objects from garbage collection during the body, and collect new ones less often.

    Otherwise the collector would scan all modules and loaded files repeatedly: a sixth of the time of a plan or commit.
    """
    if _is_frozen(os.getpid()):  # by other code, which may rely on that
        yield
        return
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(before[0], _YOUNG) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


@lru_cache(maxsize=1)
def _is_frozen(process: int) -> bool:
    """Return whether the heap of this process was frozen when it first asked: Python then counts all objects in it."""
    del process
    return gc.get_freeze_count() > _OF_PYTHON


def end_without_collecting() -> None:
    """Let this process end without a last garbage collection, which takes a quarter of a second to free nothing."""
    atexit.register(gc.freeze)
