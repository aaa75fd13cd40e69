"""The listing of one root of a store: pages fetched ahead, several folders at once, files yielded in order.

A folder in which the patterns exclude nothing is listed flat, with everything below it. If such a listing has more
pages and shows few folders with many files each, these are listed in parallel instead. The number of waiting entries is
bounded: some thousand for each folder being listed, and the folders on the pages above it.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import compress
from threading import Event
from typing import TypeAlias, TypeVar

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import (
    FileMissingError,
    FolderLinkError,
    OptionsError,
    SourceError,
    TransientError,
)
from airflow_provider_blockread.storage.backends.shared.errors import misread
from airflow_provider_blockread.storage.backends.shared.pages import Entry, Page, Pages
from airflow_provider_blockread.storage.listing.ahead import Ahead
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.patience import Patience
from airflow_provider_blockread.storage.uris import canonical, child, is_odd, readable_uri

_Answer = TypeVar("_Answer")
_Section: TypeAlias = Ahead | Iterable[FileVersion]

#: A pattern of paths with bytes that are not UTF-8.
NOT_UTF8 = r"re:.*[\udc80-\udcff].*"

_AHEAD = 1500  # entries that may wait for the last folder being listed; for the one before it twice as many, and so on
_MANY = 50  # average files per folder on a page, above which each folder is worth a request
#: What is odd in the segments of many names, each enclosed by `/`.
_ODD_SIGN, _ODD_SEGMENTS = re.compile(r"[\x00-\x1f\x7f?#\\\udc80-\udcff]"), ("//", "/./", "/../")


class PagedListing:
    """One listing of one root.

    Args:
        uri: the canonical URI of the root.
        pages: the pages of the root's listings.
        rules: which names are taken.
        patience: how failing requests are retried.
        may_follow: returns whether an entry that may be a link stays within bounds.
        is_listed: returns whether the file behind such an entry is listed by its own name.
    """

    def __init__(
        self,
        uri: str,
        pages: Pages,
        rules: NameRules,
        patience: Patience | None = None,
        *,
        may_follow: Callable[[str], bool] = lambda _: True,
        is_listed: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._uri = uri
        self._pages = pages
        pages.by_name = rules.marker is not None
        self._rules = rules
        self._may_follow, self._is_listed = may_follow, is_listed
        self._patience = patience or Patience()
        self._stopped = Event()
        self._folder = ""  # the folder for which `_reached` is known
        self._reached = True

    def files(self) -> Iterator[FileVersion]:
        """Yield each file of the root that matches the rules.

        Raises:
            TransientError: if the store keeps failing, or a folder vanishes while it is listed.
            SourceError: if access is denied, or a name cannot be passed to the store's client.
        """
        with self._threads() as pool:
            plan: deque[_Section] = deque([self._open("", pool)])
            while plan:
                self._start(plan)
                first = plan.popleft()
                if not isinstance(first, Ahead):
                    yield from first
                elif (page := first.next()) is not None:
                    plan.appendleft(first)
                    plan.extendleft(reversed(self._sections(page, pool)))

    @contextmanager
    def _threads(self) -> Iterator[ThreadPoolExecutor | None]:
        if not self._pages.width:
            yield None
            return
        pool = ThreadPoolExecutor(self._pages.width, thread_name_prefix="blockread-listing")
        try:
            yield pool
        finally:
            self._stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)

    def _start(self, plan: deque[_Section]) -> None:
        """Prefetch the next folders, most entries for the nearest one, so that all of them progress in parallel."""
        folders = (part for part in plan if isinstance(part, Ahead))
        for most, folder in zip(range(self._pages.width, 0, -1), folders, strict=False):
            folder.start(most * _AHEAD)

    def _sections(self, page: Page, pool: ThreadPoolExecutor | None) -> list[_Section]:
        """Return the files of a page that match, and the folders between them."""
        segments = "/".join(("", *page.names, ""))
        if _is_plain(page, segments):
            return [self._plain(page, segments)]
        sections: list[_Section] = []
        for entry in page.entries():
            if entry.folder:
                if self._enters(entry.name[:-1]):
                    sections.append(self._open(entry.name, pool))
            elif (version := self._wanted(entry)) is not None:
                last = sections[-1] if sections else None
                if isinstance(last, list):
                    last.append(version)
                else:
                    sections.append([version])
        return sections

    def _plain(self, page: Page, segments: str) -> Iterable[FileVersion]:
        """Return the matching files of a page that has only files with plain names; they are created lazily."""
        paths = map(child(self._uri, "").__add__, page.names)
        versions = map(FileVersion._make, zip(paths, page.sizes, page.times, page.etags, strict=True))
        if self._rules.match_all(segments):
            return versions
        return compress(versions, map(self._wants, page.names, page.sizes))

    def _enters(self, name: str) -> bool:
        return not self._rules.skips(name.rpartition("/")[2]) and self._rules.enters(name)

    def _wants(self, name: str, size: int | None) -> bool:
        if size == 0 and (not name or name.endswith("/")):
            return False  # stands for a folder
        folder, _, last = name.rpartition("/")
        if folder != self._folder:
            self._folder, self._reached = folder, self._rules.reaches(folder)
        return self._reached and not self._rules.skips(last) and self._rules.wants(name)

    def _wanted(self, entry: Entry) -> FileVersion | None:
        wanted = self._wants(entry.name, entry.size)
        enters = self._pages.folder_links and entry.size is None and self._enters(entry.name)
        if not (wanted or enters):
            return None
        try:
            version = self._version(entry)
        except FolderLinkError:
            if enters:
                raise
            return None
        return version if wanted else None

    def _version(self, entry: Entry) -> FileVersion | None:
        name, size, mtime_ns, etag, _ = entry
        uri = child(self._uri, name)
        require_text(uri, name)
        if is_odd(name):
            self._require_address(uri, name)
        if size is None:
            if self._pages.folder_links and not self._ask(uri, lambda: self._may_follow(uri)):
                return None
            version = self._ask(uri, lambda: self._pages.version(uri, name))
            if version is None or not self._pages.folder_links:  # a link that leads nowhere may have no real path
                return version
            return None if self._ask(uri, lambda: self._is_listed(uri)) else version
        return FileVersion(path=uri, size=size, mtime_ns=mtime_ns, etag=etag)

    def _require_address(self, uri: str, name: str) -> None:
        try:
            meant = canonical(uri) == uri and self._pages.addresses(name)
        except (OptionsError, ValueError):
            meant = False
        if not meant:
            raise misread(uri)

    def _open(self, folder: str, pool: ThreadPoolExecutor | None) -> Ahead:
        return Ahead(self._pages_of(folder), pool)

    def _pages_of(self, folder: str) -> Iterator[Page]:
        if not self._pages.flat or self._rules.prunes(folder[:-1]):
            yield from self._following(folder, None, flat=False)
            return
        first = self._page(folder, None, flat=True)
        if first.cursor is not None and _few_folders(folder, first):
            inner = self._page(folder, None, flat=False)
            if inner.cursor is None:
                yield inner
                return
        yield first
        if first.cursor is not None:
            yield from self._following(folder, first.cursor, flat=True)

    def _following(self, folder: str, cursor: str | None, *, flat: bool) -> Iterator[Page]:
        while True:
            page = self._page(folder, cursor, flat=flat)
            yield page
            if page.cursor is None:
                return
            if page.cursor == cursor:
                msg = f"{child(self._uri, folder)}: the store returns the same page repeatedly; try again"
                raise TransientError(msg)
            cursor = page.cursor

    def _page(self, folder: str, cursor: str | None, *, flat: bool) -> Page:
        uri = child(self._uri, folder[:-1]) if folder else self._uri
        return self._ask(uri, lambda: self._pages.page(folder, cursor, flat=flat))

    def _ask(self, uri: str, request: Callable[[], _Answer]) -> _Answer:
        try:
            return self._patience.ask(uri, request, self._pause)
        except FileMissingError as error:
            msg = f"{uri} vanished while it was being listed; try again"
            raise TransientError(msg) from error

    def _pause(self, seconds: float) -> None:
        if self._stopped.wait(seconds):
            msg = f"{self._uri}: this listing was stopped"
            raise TransientError(msg)


def require_text(uri: str, name: str) -> None:
    """Make sure that a name is text.

    Raises:
        SourceError: if it is not UTF-8.
    """
    if name.isascii():
        return
    try:
        name.encode()
    except UnicodeEncodeError as error:
        msg = (
            f"{readable_uri(uri)}: this name is not UTF-8, so no plan can store it; rename the file, or exclude it by a"
            f" pattern, as exclude='{NOT_UTF8}' does with all such names"
        )
        raise SourceError(msg) from error


def _few_folders(folder: str, page: Page) -> bool:
    """Return whether a page of a flat listing shows few folders, each with enough files to be worth a request."""
    below = (name[len(folder) :].partition("/") for name in page.names)
    folders = {name for name, slash, _ in below if slash}
    return 0 < len(folders) <= len(page.names) // _MANY


def _is_plain(page: Page, segments: str) -> bool:
    """Return whether a page contains only files with known sizes and with names that every client reads literally."""
    if page.folders is not None or None in page.sizes or _ODD_SIGN.search(segments) is not None:
        return False
    return not any(odd in segments for odd in _ODD_SEGMENTS)
