"""Scans of one root, depth-first, names in order: the files of a folder, then its folders.

Of the names, those of one folder at a time and of the folders still to come are held. A folder that cannot be read,
or vanishes, is an error: a partial listing is never taken for a whole one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Protocol

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import BlockReadError, SourceError, TransientError
from airflow_provider_blockread.storage.backends import pages_of
from airflow_provider_blockread.storage.backends.remote import RemoteStore
from airflow_provider_blockread.storage.edge import system_error
from airflow_provider_blockread.storage.identity import from_stat
from airflow_provider_blockread.storage.listing.roots import Inside
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.listing.walk import Walk, require_text
from airflow_provider_blockread.storage.uris import file_uri, name_of, printable

_NOWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}  # what a broken link gives


class OwnScans(Protocol):
    """What the scans of all roots come to without following a link; paths are real ones."""

    def lists(self, folder: str) -> bool:
        """Tell whether one of them lists this folder."""
        ...

    def yields(self, file: str) -> bool:
        """Tell whether one of them yields this file."""
        ...

    def is_root(self, file: str) -> bool:
        """Tell whether this file is a root itself."""
        ...


def scan_store(
    store: RemoteStore, root: tuple[str, str], rules: NameRules, may_follow: Callable[[str], bool]
) -> Iterator[FileVersion]:
    """Yield the files below a root given as (canonical URI, path in the store).

    Object stores list in the order of keys, and pages of a folder are never put together; other stores list a folder's
    files before its folders, by name. SSH servers list as they please, but by name where markers must come beside their
    files. Links, where a store has them, are followed to files only, if they may be: it does not tell folders apart, so
    loops would not end.
    """
    uri, path = root
    return Walk(uri, pages_of(store, path), rules, may_follow=may_follow).files()


class LocalScan:
    """A scan of local roots.

    Links to folders are followed after all real folders of their root, each target once, and not at all when a
    root's own scan comes to it: so loops end, and no path depends on which links happen to point at it.

    Args:
        rules: which names are taken.
        own: what the scans of all roots come to.
        inside: where links may lead; None for anywhere.
        leaves_out: takes the path of each link to a file or folder that would be listed, but lies elsewhere.
    """

    def __init__(
        self, rules: NameRules, own: OwnScans, inside: Inside | None, leaves_out: Callable[[str], None]
    ) -> None:
        self._rules = rules
        self._own = own
        self._inside = inside
        self._leaves_out = leaves_out
        self._followed: dict[str, str] = {}  # target -> relative path of the link
        self._waiting: deque[tuple[str, str]] = deque()

    def files(self, root: str) -> Iterator[FileVersion]:
        """Yield the files below a root given as an absolute path."""
        yield from self._tree(root, "", real=None)
        while self._waiting:
            path, relative = self._waiting.popleft()
            real = os.path.realpath(path)
            if not self._may_follow(real):  # it led elsewhere when it was found
                self._leaves_out(path)
            elif not self._own.lists(real) and not self._seen_by_link(real):
                self._followed[real] = relative
                yield from self._tree(path, f"{relative}/", real=real)

    def _may_follow(self, real: str) -> bool:
        return self._inside is None or self._inside.holds(real)

    def _seen_by_link(self, real: str) -> bool:
        for target in (real, *map(str, PurePosixPath(real).parents)):
            relative = self._followed.get(target)
            if relative is not None and (target == real or self._rules.reaches(relative + real[len(target) :])):
                return True
        return False

    def _tree(self, top: str, relative: str, *, real: str | None) -> Iterator[FileVersion]:
        """Yield the files of a tree; `real` is where it lies when a link led to it."""
        folders = [(top, relative)]
        while folders:
            path, relative = folders.pop()
            names, links, inner = self._entries(path)
            prefix = path if path.endswith("/") else f"{path}/"
            for name in names:
                if real is not None and self._own.is_root(real + (prefix + name)[len(top) :]):
                    continue
                find = self._behind_link if name in links else self._plain
                if (version := find(prefix + name, relative + name)) is not None:
                    yield version
            for name in inner:
                if not self._rules.enters(relative + name):
                    continue
                if real is None or not self._met(real + (prefix + name)[len(top) :]):
                    folders.append((prefix + name, f"{relative}{name}/"))

    def _entries(self, path: str) -> tuple[list[str], set[str], list[str]]:
        """Return the names of files and links in order, which of them are links, and those of folders in reverse."""
        names, links, folders = [], set(), []
        for entry in _scanned(path):
            name = entry.name
            if self._rules.skips(name):
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
                continue
            names.append(name)
            if entry.is_symlink():
                links.add(name)
        names.sort()
        folders.sort(reverse=True)
        return names, links, folders

    def _met(self, real: str) -> bool:
        return real in self._followed or self._own.lists(real)

    def _plain(self, path: str, relative: str) -> FileVersion | None:
        if not self._rules.wants(relative):
            return None
        try:
            return _version(path, os.lstat(path))
        except FileNotFoundError:  # taken away since its name was read: it is not there
            return None
        except OSError as error:
            raise system_error(printable(file_uri(path)), error) from error

    def _behind_link(self, path: str, relative: str) -> FileVersion | None:
        """Return the file behind a link unless its own path is listed; note a folder for later."""
        real = os.path.realpath(path)
        if not self._may_follow(real):
            self._leave_out(path, relative)
            return None
        try:
            found = os.stat(path)  # noqa: PTH116 - making a Path costs more than the call
        except OSError as error:
            if error.errno in _NOWHERE:
                return None
            raise system_error(printable(file_uri(path)), error) from error
        if stat.S_ISDIR(found.st_mode):
            if self._rules.enters(relative):
                self._waiting.append((path, relative))
            return None
        if not self._rules.wants(relative):
            return None
        if not self._rules.marks(name_of(relative)) and self._own.yields(real):
            return None
        return _version(path, found)

    def _leave_out(self, path: str, relative: str) -> None:
        """Count a link that leads out, where what it leads to would be listed."""
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - as above
        except OSError as error:
            if error.errno in _NOWHERE:
                return
            is_folder = True  # as far as this account can tell
        if self._rules.wants(relative) or (is_folder and self._rules.enters(relative)):
            self._leaves_out(path)


def _scanned(path: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            yield from entries
    except OSError as error:
        raise unlisted(printable(file_uri(path)), error) from error


def _version(path: str, found: os.stat_result) -> FileVersion | None:
    """Return a regular file's version, None for a pipe, socket or device."""
    if not stat.S_ISREG(found.st_mode):
        return None
    if not path.isascii():
        require_text(file_uri(path), path)
    return from_stat(file_uri(path), found)


def unlisted(uri: str, error: OSError) -> BlockReadError:
    """Return the error that says why a folder could not be listed."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return TransientError(f"{uri} vanished while it was being listed; try again")
    if isinstance(error, PermissionError):
        return SourceError(f"{uri}: this folder must not be listed; let the reading account in, or exclude the folder")
    return system_error(uri, error)
