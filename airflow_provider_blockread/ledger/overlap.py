"""Overlaps work on the ledger with the production of the next items."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

#: The beginning of the thread's name.
THREAD = "blockread-ledger"

_TURN_S = 0.0005

T = TypeVar("T")
R = TypeVar("R")


def overlapped(
    work: Callable[[T], R], items: Iterable[T], *, ahead: int, at_once: Callable[[], bool] = lambda: False
) -> Iterator[R]:
    """Yield the result of the work on each item, in order; a thread works while the caller's thread produces items.

    An error of the work is raised here, and later items are not processed. If producing the items fails, those already
    produced are processed first.

    Args:
        work: processes one item; items are processed one after another.
        items: produced at most `ahead` items in advance.
        ahead: how many items may wait.
        at_once: returns whether the caller's thread itself processes the newest item before it produces the next.
    """
    waiting: deque[Future[R]] = deque()
    with ThreadPoolExecutor(1, thread_name_prefix=THREAD) as pool, _short_turns():
        for item in items:
            here = at_once()
            if not here:
                waiting.append(pool.submit(work, item))
            while waiting and (here or len(waiting) > ahead):
                yield _result(pool, waiting)
            if here:
                yield work(item)
        while waiting:
            yield _result(pool, waiting)


def _result(pool: ThreadPoolExecutor, waiting: deque[Future[R]]) -> R:
    try:
        return waiting.popleft().result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let a thread that returns from the database run soon, instead of waiting 5 ms each time for a busy thread."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
