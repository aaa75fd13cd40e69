"""Listings of local roots, depth-first, names in order: the files of a folder, then its folders.

The names in one folder, and of the folders still to be listed, are held in memory. A folder that cannot be read, or
vanishes, is an error: a partial listing never counts as a complete one.
"""

from __future__ import annotations

import errno
import os
import stat
from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import BlockReadError, SourceError, TransientError
from airflow_provider_blockread.storage.backends.disk_calls import require_utf8
from airflow_provider_blockread.storage.backends.shared.errors import system_error
from airflow_provider_blockread.storage.backends.shared.identity import from_stat
from airflow_provider_blockread.storage.listing.paged import require_text
from airflow_provider_blockread.storage.listing.roots import Inside
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.uris import child, file_uri, name_of, readable_uri, relative_to

_MOST_WAYS = 1_000  # by which links behind links may lead to one folder
_NOWHERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}  # what a broken link gives


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A root of a source: a folder, or a single file."""

    uri: str
    real: str  # the URI with links resolved
    file: FileVersion | None


class RootListings:
    """What the listings of some roots contain without following links, determined from names alone."""

    def __init__(self, roots: Sequence[Root], rules: NameRules) -> None:
        self._roots = roots
        self._rules = rules

    def enter(self, folder: str) -> bool:
        """Return whether one of them lists the local folder with this real path."""
        inside = (relative_to(file_uri(folder), root.real) for root in self._roots if root.file is None)
        return any(relative is not None and self._rules.reaches(relative) for relative in inside)

    def contain(self, real: str) -> bool:
        """Return whether one of them yields the file with this real URI."""
        for root in self._roots:
            relative = relative_to(real, root.real)
            if root.file is not None and relative == "":
                return True
            if root.file is None and relative and self._rules.matches(relative):
                return True
        return False


class _Followed(NamedTuple):
    """A link to a folder that is followed."""

    path: str  # of the link
    relative: str  # the same below its root
    walked: tuple[tuple[str, str], ...]  # real paths on the way to it: from the top of a tree to the folder of a link

    def leads_back(self, real: str) -> bool:
        """Return whether this way already goes through a folder."""
        return any(_is_below(real, top) and _is_below(folder, real) for top, folder in self.walked)


class LocalListing:
    """A listing of local roots.

    Links to folders are followed after all real folders of their root. A file is listed under its own path if the
    listing of a root yields that, and else under the first link that leads to it by names which the rules take.

    Args:
        rules: which names are taken.
        own: what the listings of all roots contain.
        inside: where links may lead, or None for anywhere.
        hold_back: called with the path of each link to a file or folder that would be listed, but is outside.
    """

    def __init__(
        self, rules: NameRules, own: RootListings, inside: Inside | None, hold_back: Callable[[str], None]
    ) -> None:
        self._rules = rules
        self._own = own
        self._inside = inside
        self._hold_back = hold_back
        #: The links that were followed, by target; those of several roots may have the same relative path.
        self._trees: defaultdict[str, list[_Followed]] = defaultdict(list)
        self._waiting: deque[_Followed] = deque()

    def files(self, root: str) -> Iterator[FileVersion]:
        """Yield the files below a root given as an absolute path.

        Raises:
            SourceError: when a folder cannot be read, or links lead to one in too many ways.
            TransientError: when a folder vanishes.
        """
        yield from self._tree(_Followed(root, "", ()), real=os.path.realpath(root))
        while self._waiting:
            link = self._waiting.popleft()
            real = os.path.realpath(link.path)
            if not self._may_follow(real):  # it led elsewhere when it was found
                self._hold_back(link.path)
            elif not self._is_listed(real) and not link.leads_back(real):
                self._trees[real].append(link)
                if len(link.walked) > 1:
                    self._check_ways(real)
                yield from self._tree(link, real=real)

    def _may_follow(self, real: str) -> bool:
        return self._inside is None or self._inside.holds(real)

    def _check_ways(self, real: str) -> None:
        """Bound the ways through several links: these multiply, unlike links in the folders of the roots themselves."""
        if sum(len(link.walked) > 1 for link in self._trees[real]) > _MOST_WAYS:
            msg = (
                f"{readable_uri(file_uri(real))}: links lead to this folder in more than {_MOST_WAYS:,} ways; exclude"
                " some of the links by a pattern"
            )
            raise SourceError(msg)

    def _behind_links(self, real: str, but: _Followed | None) -> Iterator[str]:
        """Yield the relative paths that links which were followed give to a place, except for one of the links."""
        tree = real if self._trees else "/"
        while tree != "/":
            for link in self._trees.get(tree, ()):
                if link is not but:
                    yield link.relative + real[len(tree) :]
            tree = tree.rpartition("/")[0] or "/"

    def _is_listed(self, real: str, but: _Followed | None = None) -> bool:
        """Return whether all files of a folder are listed under its own path or a link, except for this link.

        Where the rules depend on more than names, each file must be looked at.
        """
        if not self._rules.of_names:
            return False
        return self._own.enter(real) or any(map(self._rules.reaches, self._behind_links(real, but)))

    def _is_yielded(self, real: str, but: _Followed | None = None) -> bool:
        """Return whether a file is listed under its own path or under a link, except for this link."""
        return self._own.contain(file_uri(real)) or any(map(self._rules.matches, self._behind_links(real, but)))

    def _is_again(self, relative: str, real: str, top: _Followed) -> bool:
        """Return whether a file below a link is listed by another way; asked only of files that the rules take."""
        if self._rules.marks(name_of(relative)) or not self._rules.wants(relative):
            return False
        return self._is_yielded(real, top)

    def _tree(self, top: _Followed, *, real: str) -> Iterator[FileVersion]:
        """Yield the files of a tree whose own path is `real`."""
        folders = [(top.path, f"{top.relative}/" if top.relative else "")]
        while folders:
            path, relative = folders.pop()
            names, links, inner = self._entries(path)
            prefix, below = child(path, ""), child(real + path[len(top.path) :], "")
            for name in names:
                is_again = bool(top.relative) and self._is_again(relative + name, below + name, top)
                if name in links:
                    link = _Followed(prefix + name, relative + name, (*top.walked, (real, below[:-1])))
                    version = self._behind_link(link, is_again=is_again)
                else:
                    version = None if is_again else self._plain(prefix + name, relative + name)
                if version is not None:
                    yield version
            entered = (name for name in inner if self._rules.enters(relative + name))
            folders += [
                (prefix + name, f"{relative}{name}/")
                for name in entered
                if not (top.relative and self._is_listed(below + name, top))
            ]

    def _entries(self, path: str) -> tuple[list[str], set[str], list[str]]:
        """Return the names of files and links in order, the set of links, and the names of folders in reverse order."""
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

    def _plain(self, path: str, relative: str) -> FileVersion | None:
        if not self._rules.wants(relative):
            return None
        try:
            return _version(path, os.lstat(path))
        except FileNotFoundError:  # deleted since its name was read
            return None
        except OSError as error:
            raise system_error(readable_uri(file_uri(path)), error) from error

    def _behind_link(self, link: _Followed, *, is_again: bool) -> FileVersion | None:
        """Return the file behind a link unless that or the link is listed by another way; keep a folder for later."""
        path, relative = link.path, link.relative
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
                self._waiting.append(link)
            return None
        if is_again or not self._rules.wants(relative):
            return None
        if not self._rules.marks(name_of(relative)) and self._is_yielded(real):
            return None
        return _version(path, found)

    def _check_outside(self, path: str, relative: str) -> None:
        """Count a link that leads out of the roots, if its target would be listed."""
        try:
            is_folder = stat.S_ISDIR(os.stat(path).st_mode)  # noqa: PTH116 - as above
        except OSError as error:
            if error.errno in _NOWHERE:
                return
            is_folder = True  # as far as this account can tell
        if self._rules.wants(relative) or (is_folder and self._rules.enters(relative)):
            self._hold_back(path)


def _is_below(path: str, folder: str) -> bool:
    """Return whether a real path is that of a folder, or below it."""
    return path == folder or path.startswith(child(folder, ""))


def _scandir(path: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(path) as entries:
            yield from entries
    except OSError as error:
        raise _unlisted(readable_uri(file_uri(path)), error) from error


def _version(path: str, found: os.stat_result) -> FileVersion | None:
    """Return the version of a regular file, or None for a pipe, socket or device."""
    if not stat.S_ISREG(found.st_mode):
        return None
    if not path.isascii():
        require_utf8(path)
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
