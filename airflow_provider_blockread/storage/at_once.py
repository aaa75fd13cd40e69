"""Requests about many files: sent ahead of use, several at once, where the store serves them so."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.ranges import REQUESTS
from airflow_provider_blockread.storage.stores import Stores

T = TypeVar("T")
R = TypeVar("R")

_AHEAD = 4 * REQUESTS  # items held at once


def ask_ahead(
    stores: Stores, items: Iterable[T], ask: Callable[[T], R], uri_of: Callable[[T], str | None]
) -> Iterator[tuple[T, Callable[[], R]]]:
    """Yield each item with a function that returns the answer about it, or raises its error.

    Args:
        stores: opens the stores.
        items: what to ask about, consumed ahead of use, and in order.
        ask: returns the answer about an item; several threads call it for items on stores that serve them.
        uri_of: returns the URI of an item, or None if its answer may not be needed, and is not worth a request ahead.
    """
    pool = ThreadPoolExecutor(REQUESTS, thread_name_prefix="blockread-ask")
    waiting: deque[tuple[T, Callable[[], R]]] = deque()
    is_cut_off = True
    try:
        for item in items:
            uri = uri_of(item)
            is_sent = uri is not None and serves_threads(stores, uri)
            waiting.append((item, pool.submit(ask, item).result if is_sent else partial(ask, item)))
            if len(waiting) > _AHEAD:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
        is_cut_off = False  # the caller may still want the last answers
    finally:
        pool.shutdown(wait=is_cut_off, cancel_futures=is_cut_off)


def answers(stores: Stores, items: Iterable[T], ask: Callable[[T], R], uri_of: Callable[[T], str] = str) -> Iterator[R]:
    """Yield the answer about each item, in order; arguments as in `ask_ahead`, by default for items that are URIs."""
    for _, answer in ask_ahead(stores, items, ask, uri_of):
        yield answer()


def remove_all(stores: Stores, files: Iterable[str]) -> None:
    """Delete files by URI, several at once where the store serves them so; none of them need exist."""

    def remove(uri: str) -> None:
        stores.remove(uri)

    deque(answers(stores, files, remove), maxlen=0)


def remove_folders(stores: Stores, folders: Iterable[str]) -> int:
    """Delete folders by URI with everything in them, as `remove_all` deletes files, and return how many."""

    def remove(uri: str) -> None:
        stores.remove_folder(uri)

    return sum(1 for _ in answers(stores, folders, remove))


def serves_threads(stores: Stores, uri: str) -> bool:
    """Return whether the store of a file serves several threads at once, and is worth it."""
    return not uris.is_local(uri) and stores.remote(uri)[0].concurrent
