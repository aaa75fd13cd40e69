"""Done-markers: a file is taken once its marker is beside it, or the marker of its folder is in the folder.

A listing yields the files of a folder and their markers by name, each once, possibly interleaved with those of folders
below. Therefore only the files that wait for their markers are kept, for each folder that the listing is in.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options.source import MARKER_PLACES
from airflow_provider_blockread.storage.uris import name_of

_MOST = 10_000


class DoneMarker:
    """The name of a done-marker."""

    def __init__(self, text: str) -> None:
        """Parse the name, which may contain a placeholder for the name of the marked file."""
        self._place = next((place for place in MARKER_PLACES if place in text), None)
        self._before, _, self._after = text.partition(self._place or text)
        self._text = text
        name = "(.+)" if self._place else re.escape(text)
        self._regex = re.compile(re.escape(self._before) + name + re.escape(self._after), re.DOTALL)
        #: Whether the name of a marker begins with that of its file, so that it is listed soon after the file.
        self.follows = self._place is not None and not self._before

    @property
    def of_folder(self) -> bool:
        """Whether one marker marks all files of a folder."""
        return self._place is None

    @property
    def of_one(self) -> bool:
        """Whether the name of a marker contains that of its file."""
        return self._place == "{name}"

    def is_marker(self, name: str) -> bool:
        """Return whether a file of this name is a marker."""
        return self._regex.fullmatch(name) is not None

    def of(self, name: str) -> str:
        """Return the name of the marker of a file."""
        return self._text if self._place is None else f"{self._before}{self._key(name)}{self._after}"

    def key_of(self, name: str) -> str:
        """Return what the names of a file and its marker have in common; if the marker `follows`, their beginning."""
        found = self._regex.fullmatch(name)
        return (found[1] if found else self._key(name)) if self._place else ""

    def _key(self, name: str) -> str:
        return (name.rpartition(".")[0] or name) if self._place == "{stem}" else name


@dataclass(slots=True)
class _Folder:
    """A folder that is currently being listed."""

    uri: str
    waiting: dict[str, list[FileVersion]] = field(default_factory=dict)  # by key
    count: int = 0  # of waiting files
    markers: set[str] = field(default_factory=set)  # by key
    closed: bool = False  # its own marker is known to be absent


class Marked:
    """Filters one root's listing for the files that have their markers; the others are passed to `unmarked`.

    Args:
        marker: how a marker is named.
        exists: returns whether a file with this URI exists.
        unmarked: called with the path of each file without a marker.
        most: the most files of a folder that may wait for the folder's marker; with more, the store is asked for it.
    """

    def __init__(
        self, marker: DoneMarker, exists: Callable[[str], bool], unmarked: Callable[[str], None], *, most: int = _MOST
    ) -> None:
        self._marker, self._exists, self._unmarked, self._most = marker, exists, unmarked, most
        self._folders: list[_Folder] = []  # each inside the one before

    def of(self, listing: Iterator[FileVersion]) -> Iterator[FileVersion]:
        """Yield the marked files of a listing that also contains the markers."""
        for version in listing:
            name = name_of(version.path)
            folder = self._enter(version.path[: -len(name)])
            key = self._marker.key_of(name)
            if self._marker.follows:
                self._pass(folder, name)
            if self._marker.is_marker(name):
                folder.markers.add(key)
                yield from self._release(folder, key)
            elif key in folder.markers:
                yield version
            elif folder.closed:
                self._unmarked(version.path)
            else:
                folder.waiting.setdefault(key, []).append(version)
                folder.count += 1
                if self._marker.of_folder and folder.count == self._most:
                    yield from self._ask(folder)
        self._leave(None)

    def of_single(self, files: Iterator[FileVersion]) -> Iterator[FileVersion]:
        """Yield the files, each of which is itself a root, for which the store has a marker."""
        for version in files:
            name = name_of(version.path)
            if self._exists(version.path[: -len(name)] + self._marker.of(name)):
                yield version
            else:
                self._unmarked(version.path)

    def _enter(self, uri: str) -> _Folder:
        self._leave(uri)
        if not self._folders or self._folders[-1].uri != uri:
            self._folders.append(_Folder(uri))
        return self._folders[-1]

    def _leave(self, uri: str | None) -> None:
        """Give up the files that wait in folders that do not contain the folder `uri`, or in all folders for None."""
        while self._folders and (uri is None or not uri.startswith(self._folders[-1].uri)):
            for versions in self._folders.pop().waiting.values():
                self._give_up(versions)

    def _pass(self, folder: _Folder, name: str) -> None:
        """Give up the files whose markers would have been listed before this name, and forget earlier markers."""
        for key in [key for key in folder.waiting if not name.startswith(key)]:
            self._give_up(folder.waiting.pop(key))
        folder.markers = {key for key in folder.markers if name.startswith(key)}

    def _release(self, folder: _Folder, key: str) -> Iterator[FileVersion]:
        folder.count = 0
        yield from folder.waiting.pop(key, ())

    def _ask(self, folder: _Folder) -> Iterator[FileVersion]:
        if self._exists(folder.uri + self._marker.of("")):
            folder.markers.add("")
            yield from self._release(folder, "")
            return
        folder.closed = True
        self._give_up(folder.waiting.pop(""))

    def _give_up(self, versions: list[FileVersion]) -> None:
        for version in versions:
            self._unmarked(version.path)
