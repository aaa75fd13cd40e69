"""What is inside a source, determined from names and links alone."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Self

from airflow_provider_blockread.errors import FileMissingError
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.stores import Stores

_FOLDERS = 64  # whose resolved links, or fit to the patterns, are cached


def real_uri(uri: str) -> str:
    """Return the unique URI of a place: links on the local disk are resolved, and hosts of servers are normalised."""
    path = uris.local_path(uri)
    return uris.place_of(uri) if path is None else uris.file_uri(os.path.realpath(path))


def bounds_of(source: FileSource) -> Bounds:
    """Return the bounds within which links and redirects are followed when the files of a source are read."""
    local = {uri for uri in map(uris.canonical, source.roots) if uris.is_local(uri)}
    inside = sorted(local) if local and source.follow_links == "inside" else None
    return Bounds(link_roots=inside, redirect_hosts=tuple(source.redirect_hosts))


class Inside:
    """The places inside any of some local roots, with all links resolved, including those in the roots' own paths."""

    def __init__(self, roots: Iterable[str]) -> None:
        """Resolve the roots, given as canonical URIs; those of other stores are ignored."""
        paths = (path for root in roots if (path := uris.local_path(root)) is not None)
        self._roots = {os.path.realpath(path) for path in paths}
        self._folders = tuple(uris.child(root, "") for root in self._roots)

    @classmethod
    def of(cls, source: FileSource) -> Self | None:
        """Return the places inside a source, or None if its links may lead anywhere."""
        roots = bounds_of(source).link_roots
        return None if roots is None else cls(roots)

    def holds(self, real: str) -> bool:
        """Return whether a path without links is inside."""
        return real.startswith(self._folders) or real in self._roots


class LinkRules:
    """Which links of a source may be followed, on the local disk and in stores that resolve links, such as SFTP."""

    def __init__(self, stores: Stores, source: FileSource) -> None:
        self._stores = stores
        self._anywhere = source.follow_links == "anywhere"
        self._roots = tuple(dict.fromkeys(map(uris.canonical, source.roots)))
        self._local = Inside.of(source)
        self._folder = lru_cache(_FOLDERS)(os.path.realpath)
        self._real_roots: dict[str, dict[str, str]] = {}  # roots with their real paths, by server

    def may_follow(self, uri: str) -> bool:
        """Return whether a place is inside any of the source's roots in its store, once links are resolved."""
        path = uris.local_path(uri)
        if path is not None:
            return self._local is None or self._local.holds(self._place(path))
        try:
            real = None if self._anywhere else self._stores.real_path(uri)
        except FileMissingError:  # it leads nowhere; opening it will raise
            return True
        if real is None:
            return True
        return any(uris.relative_to(real, root) is not None for root in self._resolved(uri).values())

    def is_listed(self, uri: str, rules: NameRules) -> bool:
        """Return whether the file behind a link, in a store that resolves links, is listed under its own path."""
        real = None if rules.marks(uris.name_of(uri)) else self._stores.real_path(uri)
        if real is None:
            return False
        for root, real_root in self._resolved(uri).items():
            relative = uris.relative_to(real, real_root)
            if relative is None:
                continue
            own = uris.child(root, relative) if relative else root  # a root that is a file is listed whatever its name
            if own != uri and (not relative or rules.matches(relative)):
                return True
        return False

    def _resolved(self, uri: str) -> dict[str, str]:
        """Return the real paths of the roots on the server of a URI, by root."""
        server = _server_of(uri)
        if server not in self._real_roots:
            found = {root: self._real_path(root) for root in self._roots if _server_of(root) == server}
            self._real_roots[server] = {root: real for root, real in found.items() if real is not None}
        return self._real_roots[server]

    def _real_path(self, root: str) -> str | None:
        """Return the real path of a root, or None if nothing is there, so that no link leads into it."""
        try:
            return self._stores.real_path(root)
        except FileMissingError:
            return None

    def _place(self, path: str) -> str:
        """Return a local path with its links resolved; those of its folder are resolved once for many files."""
        if Path(path).is_symlink():
            return os.path.realpath(path)
        folder, _, name = path.rpartition("/")
        return uris.child(self._folder(folder or "/"), name)


def _server_of(uri: str) -> str:
    return uris.origin_of(uris.place_of(uri))


class SourceRoots:
    """The roots of a source, and which names below them it takes."""

    def __init__(self, source: FileSource) -> None:
        """Resolve the roots.

        Raises:
            OptionsError: if a pattern is malformed.
        """
        self._rules = NameRules(source)
        self.uris = tuple(dict.fromkeys(map(uris.canonical, source.roots)))
        self._real = {uri: real_uri(uri) for uri in self.uris}
        self._folders = tuple(uris.child(uri, "") for uri in self.uris)
        self._reaches = lru_cache(_FOLDERS)(self._rules.reaches)

    def may_list(self, uri: str) -> bool:
        """Return whether a listing of the source may yield a file under this URI, by its name alone."""
        for folder in self._folders:
            if uri.startswith(folder):
                relative = uri[len(folder) :]
                if self._reaches(relative.rpartition("/")[0]) and self._rules.takes(relative):
                    return True
        return uri in self._real

    def path_of(self, uri: str) -> str | None:
        """Return the path of a file below its root, or its name if it is the root itself.

        None if the source does not take such a file, or if a link below the root leads to it.
        """
        for root in self.uris:
            relative = uris.relative_to(uri, root)
            if relative is None or (relative and not self._rules.matches(relative)):
                continue
            real = self._real[root]
            if real_uri(uri) == (uris.child(real, relative) if relative else real):
                return relative or uris.name_of(uri)
        return None

    def meet(self, folder: str) -> bool:
        """Return whether a listing of the source enters this folder, or begins below it."""
        real = real_uri(folder)
        for root in self._real.values():
            relative = uris.relative_to(real, root)
            if (relative is not None and self._rules.reaches(relative)) or uris.relative_to(root, real) is not None:
                return True
        return False
