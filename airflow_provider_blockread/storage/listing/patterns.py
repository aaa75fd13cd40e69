"""An option's patterns, of which a path must match any: globs, and regular expressions that begin with `re:`."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_provider_blockread.storage.listing.globs import any_of, compile_glob
from airflow_provider_blockread.storage.listing.regexes import MARK, compile_regex


class Patterns:
    """Matches a path if any of several patterns does; without patterns, nothing matches."""

    def __init__(self, texts: Sequence[str]) -> None:
        """Compile the patterns.

        Raises:
            OptionsError: if a glob or a regular expression is malformed.
        """
        self.is_all = "**" in texts  #: whether one of them matches every path
        self._globs = [compile_glob(text) for text in texts if not text.startswith(MARK)]
        self._regexes = [compile_regex(text.removeprefix(MARK)) for text in texts if text.startswith(MARK)]
        self._trees = any_of([glob.tree for glob in self._globs if glob.tree is not None])
        joined = any_of([glob.regex for glob in self._globs])
        #: Whether there may be folders below which everything matches.
        self.covers_trees = self.is_all or self._trees is not None or any(regex.tree for regex in self._regexes)
        every = [*([] if joined is None else [joined]), *(regex.regex for regex in self._regexes)]
        self._matches = [regex.fullmatch for regex in every]

    def match(self, path: str) -> bool:
        """Return whether a path matches one of them."""
        return any(match(path) is not None for match in self._matches)

    def reach(self, folder: str) -> bool:
        """Return whether a path below the folder could match one of them."""
        if self.is_all or any(regex.reaches(folder) for regex in self._regexes):
            return True
        segments = folder.split("/")
        return any(glob.reaches(segments) for glob in self._globs)

    def cover(self, folder: str) -> bool:
        """Return True only if every path below the folder matches."""
        if self.is_all or (self._trees is not None and self._trees.fullmatch(folder) is not None):
            return True
        return any(regex.covers(folder) for regex in self._regexes)
