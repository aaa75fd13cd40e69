"""Listings of local roots, depth-first, names in order: the files of a folder, then its folders.

The names of one folder, and of the folders still to come, are held in memory. A folder that cannot be read, or
vanishes, is an error: a partial listing never counts as a whole one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import BlockReadError, SourceError, TransientError
from airflow_provider_blockread.storage.backends.shared.errors import system_error
from airflow_provider_blockread.storage.backends.shared.identity import from_stat
from airflow_provider_blockread.storage.listing.paged import require_text
from airflow_provider_blockread.storage.listing.roots import Inside
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.uris import file_uri, name_of, readable_uri, relative_to

_NOWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}  # what a broken link gives


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A root of a source: a folder, or the one file it is."""

    uri: str
    real: str  # the URI with links resolved
    file: FileVersion | None


class RootListings:
    """What the listings of some roots contain without following a link, decided from names alone."""

    def __init__(self, roots: Sequence[Root], rules: NameRules) -> None:
        self._roots = roots
        self._rules = rules
        self._files = frozenset(root.real for root in roots if root.file is not None)

    def enter(self, folder: str) -> bool:
        """Return whether one of them lists the local folder with this real path."""
        inside = (relative_to(file_uri(folder), root.real) for root in self._roots if root.file is None)
        return any(relative is not None and self._rules.reaches(relative) for relative in inside)

    def is_root(self, path: str) -> bool:
        """Return whether the local file with this real path is a root itself."""
        return bool(self._files) and file_uri(path) in self._files

    def contain(self, real: str) -> bool:
        """Return whether one of them yields the file with this real URI."""
        for root in self._roots:
            relative = relative_to(real, root.real)
            if relative is not None and (not relative if root.file else self._rules.matches(relative)):
                return True
        return False


class LocalListing:
    """A listing of local roots.

    Links to folders are followed after all real folders of their root, each target once, and not at all if the listing
    of a root enters it: so loops end, and no path depends on which links happen to point at it.

    Args:
        rules: which names are taken.
        own: what the listings of all roots contain.
        inside: where links may lead; None for anywhere.
        hold_back: called with the path of each link to a file or folder that would be listed, but is outside.
    """

    def __init__(
        self, rules: NameRules, own: RootListings, inside: Inside | None, hold_back: Callable[[str], None]
    ) -> None:
        self._rules = rules
        self._own = own
        self._inside = inside
        self._hold_back = hold_back
        self._followed: dict[str, str] = {}  # target -> relative path of the link
        self._waiting: deque[tuple[str, str]] = deque()

    def files(self, root: str) -> Iterator[FileVersion]:
        """Yield the files below a root given as an absolute path."""
        yield from self._tree(root, "", real=None)
        while self._waiting:
            path, relative = self._waiting.popleft()
            real = os.path.realpath(path)
            if not self._may_follow(real):  # it led elsewhere when it was found
                self._hold_back(path)
            elif not self._own.enter(real) and not self._is_followed(real):
                self._followed[real] = relative
                yield from self._tree(path, f"{relative}/", real=real)

    def _may_follow(self, real: str) -> bool:
        return self._inside is None or self._inside.holds(real)

    def _is_followed(self, real: str) -> bool:
        for target in (real, *map(str, PurePosixPath(real).parents)):
            relative = self._followed.get(target)
            if relative is not None and (target == real or self._rules.reaches(relative + real[len(target) :])):
                return True
        return False

    def _tree(self, top: str, relative: str, *, real: str | None) -> Iterator[FileVersion]:
        """Yield the files of a tree; `real` is its own path if a link led to it."""
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
                if real is None or not self._is_listed(real + (prefix + name)[len(top) :]):
                    folders.append((prefix + name, f"{relative}{name}/"))

    def _entries(self, path: str) -> tuple[list[str], set[str], list[str]]:
        """Return the names of files and links in order, which of them are links, and those of folders in reverse."""
        names, links, folders = [], set(), []
        for entry in _scandir(path):
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

    def _is_listed(self, real: str) -> bool:
        return real in self._followed or self._own.enter(real)

    def _plain(self, path: str, relative: str) -> FileVersion | None:
        if not self._rules.wants(relative):
            return None
        try:
            return _version(path, os.lstat(path))
        except FileNotFoundError:  # deleted since its name was read
            return None
        except OSError as error:
            raise system_error(readable_uri(file_uri(path)), error) from error

    def _behind_link(self, path: str, relative: str) -> FileVersion | None:
        """Return the file behind a link unless its own path is listed; keep a folder for later."""
        real = os.path.realpath(path)
        if not self._may_follow(real):
            self._check_outside(path, relative)
            return None
        try:
            found = os.stat(path)  # noqa: PTH116 - making a Path costs more than the call
        except OSError as error:
            if error.errno in _NOWHERE:
                return None
            raise system_error(readable_uri(file_uri(path)), error) from error
        if stat.S_ISDIR(found.st_mode):
            if self._rules.enters(relative):
                self._waiting.append((path, relative))
            return None
        if not self._rules.wants(relative):
            return None
        if not self._rules.marks(name_of(relative)) and self._own.contain(file_uri(real)):
            return None
        return _version(path, found)

    def _check_outside(self, path: str, relative: str) -> None:
        """Count a link that leads out, if its target would be listed."""
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - as above
        except OSError as error:
            if error.errno in _NOWHERE:
                return
            is_folder = True  # as far as this account can tell
        if self._rules.wants(relative) or (is_folder and self._rules.enters(relative)):
            self._hold_back(path)


def _scandir(path: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            yield from entries
    except OSError as error:
        raise _unlisted(readable_uri(file_uri(path)), error) from error


def _version(path: str, found: os.stat_result) -> FileVersion | None:
    """Return the version of a regular file, None for a pipe, socket or device."""
    if not stat.S_ISREG(found.st_mode):
        return None
    if not path.isascii():
        require_text(file_uri(path), path)
    return from_stat(file_uri(path), found)


def _unlisted(uri: str, error: OSError) -> BlockReadError:
    """Return the error that says why a folder could not be listed."""
    if isinstance(error, (FileNotFoundError, NotADirectoryError)):
        return TransientError(f"{uri} vanished while it was being listed; try again")
    if isinstance(error, PermissionError):
        return SourceError(
            f"{uri}: this folder cannot be listed; give the reading account access, or exclude the folder"
        )
    return system_error(uri, error)
