"""Which names of a source are taken: a pure function of the path relative to its root."""

from __future__ import annotations

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage.listing.markers import Marker
from airflow_provider_blockread.storage.listing.patterns import Patterns

_HIDDEN = (".", "_")
_UNFINISHED = ("_COPYING_", ".tmp", ".part", ".crdownload")
_SIGNS = (*(f"/{sign}" for sign in _HIDDEN), *(f"{sign}/" for sign in _UNFINISHED))
_NOBODYS = "/".join(["\0"] * 64)


class NameRules:
    """The pattern, exclude, hidden, depth and done-marker options of a source.

    A scan comes to what these rules let it *show*: the files to take, and the markers of done files, which are not.
    """

    def __init__(self, source: FileSource) -> None:
        """Compile the patterns.

        Raises:
            OptionsError: when one is no glob, or no regular expression.
        """
        self._wanted = Patterns(source.patterns)
        self._excluded = Patterns(source.excludes) if source.excludes else None
        self._depth = source.depth
        self._hidden = source.hidden
        self.marker = None if source.done_marker is None else Marker(source.done_marker)

    def skips(self, name: str) -> bool:
        """Tell whether a file or folder of this name is hidden or still being written, and marks nothing."""
        return self._hides(name) and not self.marks(name)

    def _hides(self, name: str) -> bool:
        return not self._hidden and (name.startswith(_HIDDEN) or name.endswith(_UNFINISHED))

    def take_all(self, segments: str) -> bool:
        """Tell whether files are all taken, at a glance at the segments of all their names, a `/` around each.

        Where it tells no, some may be taken all the same.
        """
        alike = self._wanted.is_all and self._excluded is None and self._depth is None
        return alike and (self._hidden or not any(sign in segments for sign in _SIGNS))

    def marks(self, name: str) -> bool:
        """Tell whether a file of this name is a done-marker, which is shown, but never taken."""
        return self.marker is not None and self.marker.is_marker(name)

    def wants(self, relative: str) -> bool:
        """Tell whether the patterns want a file, or it is a marker; its folders being entered."""
        if not self._wanted.is_all and not self._wanted.match(relative):
            return self.marks(relative.rpartition("/")[2])
        if self._excluded is not None and self._excluded.match(relative):
            return self.marks(relative.rpartition("/")[2])
        return True

    def enters(self, relative: str) -> bool:
        """Tell whether a folder can hold wanted files, the folders above it being entered."""
        if self._depth is not None and relative.count("/") + 2 > self._depth:
            return False
        if self._excluded is not None and self._excluded.cover(relative):
            return False
        if self.marker is not None and self._hides(relative.rpartition("/")[2]):
            return False
        return self._wanted.is_all or self._wanted.reach(relative)

    def reaches(self, relative: str) -> bool:
        """Tell whether a scan from the root comes to this folder; the root itself is the empty path."""
        if not relative:
            return True
        segments = relative.split("/")
        above = ("/".join(segments[: end + 1]) for end in range(len(segments)))
        return not any(map(self._hides, segments)) and all(map(self.enters, above))

    def prunes(self, relative: str) -> bool:
        """Tell whether a scan may pass by some of what lies below this folder; the root itself is the empty path.

        It is tried with a path that nobody gives: patterns that reach that one reach all.
        """
        if self._excluded is not None and self._excluded.covers_trees:
            return True
        return not self.enters("/".join([relative, _NOBODYS] if relative else [_NOBODYS]))

    def takes(self, relative: str) -> bool:
        """Tell whether a scan from the root yields this file, and not as a marker of others."""
        folder, _, name = relative.rpartition("/")
        return self.reaches(folder) and not self._hides(name) and not self.marks(name) and self.wants(relative)
