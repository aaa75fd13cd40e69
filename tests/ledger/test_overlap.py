"""Work in a thread of its own, in order, never far behind, and ended with its caller."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from airflow_provider_blockread.ledger.overlap import THREAD, overlapped


def test_results_come_in_the_order_of_the_items() -> None:
    """One other thread does all the work, one item after the other."""
    threads = set()

    def work(item: int) -> int:
        threads.add(threading.current_thread())
        return item * 2

    assert list(overlapped(work, range(100), ahead=3)) == list(range(0, 200, 2))
    assert len(threads) == 1
    assert threading.main_thread() not in threads
    assert not any(thread.is_alive() for thread in threads)


def test_items_are_made_while_others_are_worked_on_but_not_without_end() -> None:
    """The caller is at most so many items ahead of what is done."""
    made, done = 0, 0
    farthest = 0

    def items() -> Iterator[int]:
        nonlocal made
        for item in range(50):
            made += 1
            yield item

    def work(item: int) -> int:
        nonlocal farthest
        farthest = max(farthest, made - item)
        return item

    for _ in overlapped(work, items(), ahead=4):
        done += 1

    assert done == 50
    assert 1 <= farthest <= 6


def test_some_items_are_worked_on_by_the_caller() -> None:
    """Where that is asked for, the caller's thread works on an item itself, once those before it are done."""
    seen = []

    def work(item: int) -> int:
        seen.append((item, threading.current_thread() is threading.main_thread()))
        return item

    made: list[int] = []
    items = (made.append(item) or item for item in range(20))

    assert list(overlapped(work, items, ahead=3, at_once=lambda: made[-1] % 5 == 4)) == list(range(20))
    assert seen == [(item, item % 5 == 4) for item in range(20)]


def test_what_the_work_raises_is_raised_and_ends_it() -> None:
    """Items that waited behind it are left undone; so are those that were not made yet."""
    done = []

    def work(item: int) -> None:
        if item == 2:
            msg = "disk full"
            raise OSError(msg)
        done.append(item)

    with pytest.raises(OSError, match="disk full"):
        list(overlapped(work, range(1_000_000), ahead=1))

    assert done[:2] == [0, 1]
    assert len(done) <= 4


def test_what_the_items_raise_comes_after_what_is_under_way() -> None:
    """What was made is worked on, and nothing continues while the caller handles the error."""
    before, done = sys.getswitchinterval(), []

    def items() -> Iterator[int]:
        yield from (1, 2, 3)
        raise KeyError

    with pytest.raises(KeyError):
        list(overlapped(done.append, items(), ahead=4))

    assert done == [1, 2, 3]
    assert sys.getswitchinterval() == before
    assert not [thread for thread in threading.enumerate() if thread.name.startswith(THREAD)]
