"""Done-markers: a file is taken once its marker lies beside it, or its folder's marker in its folder.

A scan shows the files of a folder and their markers by name, each once, and perhaps those of the folders below in
between. So of each folder that it is in, what waits for its marker is held, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options.source import MARKER_PLACES
from airflow_provider_blockread.storage.uris import name_of

_HELD = 10_000


class Marker:
    """What the name of a done-marker says."""

    def __init__(self, text: str) -> None:
        """Take the name, in which a place may stand for that of the marked file."""
        self._place = next((place for place in MARKER_PLACES if place in text), None)
        self._before, _, self._after = text.partition(self._place or text)
        self._text = text
        name = "(.+)" if self._place else re.escape(text)
        self._regex = re.compile(re.escape(self._before) + name + re.escape(self._after), re.DOTALL)
        #: A marker's name begins as its file's does, so that it comes soon behind it.
        self.follows = self._place is not None and not self._before

    @property
    def of_folder(self) -> bool:
        """Whether one marker stands for all files of a folder."""
        return self._place is None

    @property
    def of_one(self) -> bool:
        """Whether a marker's name holds all of its file's."""
        return self._place == "{name}"

    def is_marker(self, name: str) -> bool:
        """Tell whether a file of this name marks others."""
        return self._regex.fullmatch(name) is not None

    def of(self, name: str) -> str:
        """Return the name of the marker of a file."""
        return self._text if self._place is None else f"{self._before}{self._key(name)}{self._after}"

    def key_of(self, name: str) -> str:
        """Return what a file and its marker have in common: what both names begin with where one follows the other."""
        found = self._regex.fullmatch(name)
        return (found[1] if found else self._key(name)) if self._place else ""

    def _key(self, name: str) -> str:
        return (name.rpartition(".")[0] or name) if self._place == "{stem}" else name


@dataclass(slots=True)
class _Folder:
    """A folder that the scan is in."""

    uri: str
    held: dict[str, list[FileVersion]] = field(default_factory=dict)  # by key
    count: int = 0  # of them
    seen: set[str] = field(default_factory=set)  # keys of markers
    closed: bool = False  # its own marker was looked for and is not there


class Marked:
    """The files of one root's scan whose markers lie there; the others are handed to `waits`.

    Args:
        marker: how a marker is named.
        exists: tells whether a file of this URI is there.
        waits: takes each file that has no marker.
        most: files of a folder that are held for a marker of the folder; then it is looked for.
    """

    def __init__(
        self, marker: Marker, exists: Callable[[str], bool], waits: Callable[[FileVersion], None], *, most: int = _HELD
    ) -> None:
        self._marker, self._exists, self._waits, self._most = marker, exists, waits, most
        self._folders: list[_Folder] = []  # each inside the one before

    def of(self, scan: Iterator[FileVersion]) -> Iterator[FileVersion]:
        """Yield the marked files of a scan that shows the markers, too."""
        for version in scan:
            name = name_of(version.path)
            folder = self._enter(version.path[: -len(name)])
            key = self._marker.key_of(name)
            if self._marker.follows:
                self._pass(folder, name)
            if self._marker.is_marker(name):
                folder.seen.add(key)
                yield from self._release(folder, key)
            elif key in folder.seen:
                yield version
            elif folder.closed:
                self._waits(version)
            else:
                folder.held.setdefault(key, []).append(version)
                folder.count += 1
                if self._marker.of_folder and folder.count == self._most:
                    yield from self._look(folder)
        self._leave(None)

    def looked_for(self, files: Iterator[FileVersion]) -> Iterator[FileVersion]:
        """Yield those of single files beside which a marker is found."""
        for version in files:
            name = name_of(version.path)
            if self._exists(version.path[: -len(name)] + self._marker.of(name)):
                yield version
            else:
                self._waits(version)

    def _enter(self, uri: str) -> _Folder:
        self._leave(uri)
        if not self._folders or self._folders[-1].uri != uri:
            self._folders.append(_Folder(uri))
        return self._folders[-1]

    def _leave(self, uri: str | None) -> None:
        """Give up what waits in folders that do not hold the folder `uri`; None for all."""
        while self._folders and (uri is None or not uri.startswith(self._folders[-1].uri)):
            for versions in self._folders.pop().held.values():
                self._give_up(versions)

    def _pass(self, folder: _Folder, name: str) -> None:
        """Give up what waits for markers that would have come before this name, and forget those markers."""
        for key in [key for key in folder.held if not name.startswith(key)]:
            self._give_up(folder.held.pop(key))
        folder.seen = {key for key in folder.seen if name.startswith(key)}

    def _release(self, folder: _Folder, key: str) -> Iterator[FileVersion]:
        folder.count = 0
        yield from folder.held.pop(key, ())

    def _look(self, folder: _Folder) -> Iterator[FileVersion]:
        if self._exists(folder.uri + self._marker.of("")):
            folder.seen.add("")
            yield from self._release(folder, "")
            return
        folder.closed = True
        self._give_up(folder.held.pop(""))

    def _give_up(self, versions: list[FileVersion]) -> None:
        for version in versions:
            self._waits(version)
