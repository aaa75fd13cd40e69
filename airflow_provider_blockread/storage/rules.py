"""Which names of a source are taken: a pure function of the path relative to its root."""

from __future__ import annotations

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage.globs import any_of, compile_glob

_HIDDEN = (".", "_")
_UNFINISHED = ("_COPYING_", ".tmp", ".part", ".crdownload")
_NOBODYS = "/".join(["\0"] * 64)


class NameRules:
    """The pattern, exclude, hidden and recursive options of a source."""

    def __init__(self, source: FileSource) -> None:
        """Compile the globs.

        Raises:
            OptionsError: when one is no glob.
        """
        self._globs = [compile_glob(pattern) for pattern in source.patterns]
        excludes = [compile_glob(pattern) for pattern in source.excludes]
        wanted = any_of([glob.regex for glob in self._globs])
        excluded = any_of([glob.regex for glob in excludes])
        self._wanted = None if "**" in source.patterns else wanted
        self._excluded = excluded
        self._excluded_trees = any_of([glob.tree for glob in excludes if glob.tree is not None])
        self._all_excluded = "**" in source.excludes
        self._recursive = source.recursive
        self._hidden = source.hidden

    def skips(self, name: str) -> bool:
        """Tell whether a file or folder of this name is hidden or still being written."""
        return not self._hidden and (name.startswith(_HIDDEN) or name.endswith(_UNFINISHED))

    def wants(self, relative: str) -> bool:
        """Tell whether the globs want a file, its folders being entered."""
        if self._wanted is not None and self._wanted.fullmatch(relative) is None:
            return False
        return self._excluded is None or self._excluded.fullmatch(relative) is None

    def enters(self, relative: str) -> bool:
        """Tell whether a folder can hold wanted files, the folders above it being entered."""
        if not self._recursive or self._all_excluded:
            return False
        if self._excluded_trees is not None and self._excluded_trees.fullmatch(relative):
            return False
        segments = relative.split("/")
        return self._wanted is None or any(glob.reaches(segments) for glob in self._globs)

    def reaches(self, relative: str) -> bool:
        """Tell whether a scan from the root comes to this folder; the root itself is the empty path."""
        if not relative:
            return True
        segments = relative.split("/")
        above = ("/".join(segments[: end + 1]) for end in range(len(segments)))
        return not any(map(self.skips, segments)) and all(map(self.enters, above))

    def prunes(self, relative: str) -> bool:
        """Tell whether a scan may pass by some of what lies below this folder; the root itself is the empty path.

        It is tried with a path that nobody gives: patterns that reach that one reach all.
        """
        if self._excluded_trees is not None:
            return True
        return not self.enters("/".join([relative, _NOBODYS] if relative else [_NOBODYS]))

    def takes(self, relative: str) -> bool:
        """Tell whether a scan from the root yields this file."""
        folder, _, name = relative.rpartition("/")
        return self.reaches(folder) and not self.skips(name) and self.wants(relative)
