"""Prefetches pages up to a bounded number of entries, so that a slow reader pauses the fetching."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Executor
from threading import Condition

from airflow_provider_blockread.storage.backends.shared.pages import Page


class Ahead:
    """The pages of one folder, fetched one after another.

    Args:
        pages: the pages; only one thread at a time uses this iterator.
        pool: threads that prefetch; with None the caller's own thread fetches pages when they are needed.
    """

    def __init__(self, pages: Iterator[Page], pool: Executor | None) -> None:
        self._pages = pages
        self._pool = pool
        self._ready: deque[Page | Exception | None] = deque()  # None after the last page
        self._waiting = 0  # entries in `_ready`
        self._most = 0
        self._busy = False
        self._ended = False
        self._changed = Condition()

    def start(self, most: int) -> None:
        """Prefetch, if there are threads, until this many entries wait."""
        with self._changed:
            self._most = most
            self._more()

    def next(self) -> Page | None:
        """Wait for the next page and return it, or None after the last one; an error of its fetch is raised here."""
        if self._pool is None:
            return next(self._pages, None)
        with self._changed:
            self._more()
            self._changed.wait_for(lambda: self._ready)
            found = self._ready.popleft()
            if isinstance(found, Page):
                self._waiting -= len(found.names)
                self._more()
        if isinstance(found, Exception):
            raise found
        return found

    def _more(self) -> None:
        """Fetch another page, unless one is being fetched, enough entries wait, or there are no more pages."""
        if self._pool is not None and not self._busy and not self._ended and self._waiting < self._most:
            self._busy = True
            self._pool.submit(self._fetch)

    def _fetch(self) -> None:
        found: Page | Exception | None
        try:
            found = next(self._pages, None)
        except Exception as error:  # noqa: BLE001 - raised by `next`
            found = error
        with self._changed:
            self._ready.append(found)
            self._busy = False
            if isinstance(found, Page):
                self._waiting += len(found.names)
                self._more()
            else:
                self._ended = True
            self._changed.notify_all()
