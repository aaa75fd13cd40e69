"""Overlaps work on the ledger with producing its next items."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

#: What the thread's name begins with.
THREAD = "blockread-ledger"

_TURN_S = 0.0005

T = TypeVar("T")
R = TypeVar("R")


def _never() -> bool:
    return False


def overlapped(
    work: Callable[[T], R], items: Iterable[T], *, ahead: int, at_once: Callable[[], bool] = _never
) -> Iterator[R]:
    """Yield what the work makes of each item, in order; one thread does it, while the caller's makes the items.

    What the work raises is raised here, and the items behind it are left undone. Where making the items fails, those
    that are made are worked on first.

    Args:
        work: what is done about an item, one after the other.
        items: as they are made, at most `ahead` more than are done.
        ahead: how many may wait.
        at_once: returns whether the caller's thread works on the item just made before it makes the next.
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
    """Let a thread that is back from the database run soon: it would wait 5 ms each time for one that computes."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_S))
    try:
        yield
    finally:
        sys.setswitchinterval(before)
