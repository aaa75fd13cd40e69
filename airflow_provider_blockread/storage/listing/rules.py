"""Which names of a source are taken: a pure function of the path relative to the root."""

from __future__ import annotations

import re

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.listing.markers import DoneMarker
from airflow_provider_blockread.storage.listing.patterns import Patterns
from airflow_provider_blockread.storage.listing.regexes import MARK

_HIDDEN = (".", "_")
_UNFINISHED = ("_COPYING_", ".tmp", ".part", ".partial", ".filepart", ".gstmp", ".crdownload")
_SIGNS = (*(f"/{sign}" for sign in _HIDDEN), *(f"{sign}/" for sign in _UNFINISHED))
#: A glob that matches names at any depth; a `**` beside other characters would span folders.
_OF_NAMES = re.compile(rf"(?!{MARK})(\*\*/)?(\*\*|(?!.*\*\*)[^/]+)", re.DOTALL)
_NOBODYS = "/".join(["\0"] * 64)


class NameRules:
    """The pattern, exclude, hidden, depth and done-marker options of a source.

    A listing yields the files to take, and the markers of done files, which are not taken.
    """

    def __init__(self, source: FileSource) -> None:
        """Compile the patterns.

        Raises:
            OptionsError: if a glob or a regular expression is malformed, or begins with a root.
        """
        _require_relative(source)
        self._wanted = Patterns(source.patterns)
        self._excluded = Patterns(source.excludes) if source.excludes else None
        self._depth = source.depth
        self._hidden = source.hidden
        #: Whether it depends on its name alone if a file in an entered folder is taken.
        self.of_names = self._depth is None and all(map(_OF_NAMES.fullmatch, source.patterns + source.excludes))
        self.marker = None if source.done_marker is None else DoneMarker(source.done_marker)

    def skips(self, name: str) -> bool:
        """Return whether a file or folder of this name is hidden or still being written, and is not a marker."""
        return self._hides(name) and not self.marks(name)

    def _hides(self, name: str) -> bool:
        return not self._hidden and (name.startswith(_HIDDEN) or name.endswith(_UNFINISHED))

    def match_all(self, segments: str) -> bool:
        """Return True only if all files are taken, in one check of all segments of their names, each enclosed by `/`.

        If it returns False, some may still be taken.
        """
        alike = self._wanted.is_all and self._excluded is None and self._depth is None
        return alike and (self._hidden or not any(sign in segments for sign in _SIGNS))

    def marks(self, name: str) -> bool:
        """Return whether a file with this name is a done-marker, which is listed, but never taken."""
        return self.marker is not None and self.marker.is_marker(name)

    def wants(self, relative: str) -> bool:
        """Return whether a file in an entered folder matches the patterns, or is a marker."""
        matches = self._wanted.is_all or self._wanted.match(relative)
        if matches and not (self._excluded is not None and self._excluded.match(relative)):
            return True
        return self.marks(relative.rpartition("/")[2])

    def enters(self, relative: str) -> bool:
        """Return whether a folder in entered folders can contain matching files."""
        if self._depth is not None and relative.count("/") + 2 > self._depth:
            return False
        if self._excluded is not None and self._excluded.cover(relative):
            return False
        if self.marker is not None and self._hides(relative.rpartition("/")[2]):
            return False
        return self._wanted.is_all or self._wanted.reach(relative)

    def reaches(self, relative: str) -> bool:
        """Return whether a listing of the root enters this folder; the root itself is the empty path."""
        if not relative:
            return True
        segments = relative.split("/")
        above = ("/".join(segments[: end + 1]) for end in range(len(segments)))
        return not any(map(self._hides, segments)) and all(map(self.enters, above))

    def prunes(self, relative: str) -> bool:
        """Return whether a listing may skip something below this folder; the root itself is the empty path.

        This is tested with a path that nobody uses: patterns that reach it reach all paths.
        """
        if self._excluded is not None and self._excluded.covers_trees:
            return True
        return not self.enters("/".join([relative, _NOBODYS] if relative else [_NOBODYS]))

    def matches(self, relative: str) -> bool:
        """Return whether a listing of the root yields this file as one to take, and not as a marker."""
        return self.reaches(relative.rpartition("/")[0]) and self.takes(relative)

    def takes(self, relative: str) -> bool:
        """Return whether a file in an entered folder is one to take, and not a marker."""
        name = relative.rpartition("/")[2]
        return not self._hides(name) and not self.marks(name) and self.wants(relative)


def _require_relative(source: FileSource) -> None:
    """Refuse patterns that begin with a root, as in other systems: they would match no file, or leave none out."""
    roots = sorted(
        {uris.child(place, "") for root in source.roots for place in _spellings(root)}, key=len, reverse=True
    )
    for pattern in source.patterns + source.excludes:
        mark = MARK if pattern.startswith(MARK) else ""
        rest = next((pattern[len(mark + root) :] for root in roots if pattern.startswith(root, len(mark))), "")
        if rest:
            msg = (
                f"{pattern!r} begins with a root of the source, but a pattern is matched against the path below it;"
                f" write {mark + rest!r}"
            )
            raise OptionsError(msg)


def _spellings(root: str) -> set[str]:
    """Return how a pattern may name a root; not `/in`, below which there may be another folder `in`."""
    uri = uris.canonical(root)
    path = uris.local_path(uri) or ""
    return {uri, root.rstrip("/") if "://" in root else uri, path if path.count("/") > 1 else uri}
