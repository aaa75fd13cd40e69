"""What lies inside of a source: told from names and links alone, before anything there is changed."""

from __future__ import annotations

import os.path
from collections.abc import Iterable
from typing import Self

from airflow_provider_blockread.errors import FileMissingError
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.edge import translated
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.stores import Stores

_OF_SSH = {"sftp", "ssh"}


def real_uri(uri: str) -> str:
    """Return the one URI of a place: links of the local disk are resolved, hosts elsewhere named in one way."""
    path = uris.local_path(uri)
    return uris.place_of(uri) if path is None else uris.file_uri(os.path.realpath(path))


def bounds_of(source: FileSource) -> Bounds:
    """Return how far links and redirects may lead those who read the files of a source."""
    local = {uri for uri in map(uris.canonical, source.roots) if uris.local_path(uri) is not None}
    inside = sorted(local) if local and source.follow_links == "inside" else None
    return Bounds(link_roots=inside, redirect_hosts=tuple(source.redirect_hosts))


class Inside:
    """The places that lie inside of any of some local roots, once all links are resolved, those of the roots too."""

    def __init__(self, roots: Iterable[str]) -> None:
        """Resolve the roots, given as canonical URIs; those of other stores are passed over."""
        paths = (path for root in roots if (path := uris.local_path(root)) is not None)
        self._roots = {os.path.realpath(path) for path in paths}
        self._folders = tuple(uris.child(root, "") for root in self._roots)

    @classmethod
    def of(cls, source: FileSource) -> Self | None:
        """Return those of a source, None where its links may lead anywhere."""
        roots = bounds_of(source).link_roots
        return None if roots is None else cls(roots)

    def holds(self, real: str) -> bool:
        """Tell whether a path without links lies inside."""
        return real.startswith(self._folders) or real in self._roots


class RemoteLinks:
    """Whether links of remote stores lead out of a source, as far as a store tells where one leads: over SSH."""

    def __init__(self, stores: Stores, source: FileSource) -> None:
        self._stores = stores
        self._anywhere = source.follow_links == "anywhere"
        self._roots = tuple(dict.fromkeys(map(uris.canonical, source.roots)))
        self._inside: dict[str, tuple[str, ...]] = {}  # real folders, by server

    def may_follow(self, uri: str) -> bool:
        """Tell whether a place lies inside of any of the source's roots in its store, once links are followed."""
        if self._anywhere or uris.scheme_of(uri) not in _OF_SSH:
            return True
        try:
            real = self._real(uri)
        except FileMissingError:
            return True  # it leads nowhere, which others say
        server = _server(uri)
        if server not in self._inside:
            self._inside[server] = tuple(self._real(root) for root in self._roots if _server(root) == server)
        return any(uris.relative_to(real, root) is not None for root in self._inside[server])

    def _real(self, uri: str) -> str:
        store, path = self._stores.remote(uri)
        with translated(uri):
            return store.real_path(path) or path


def _server(uri: str) -> str:
    place = uris.place_of(uri)
    return f"{uris.scheme_of(place)}://{uris.authority_of(place)}"


class SourceRoots:
    """The roots of a source, and which names in them it takes."""

    def __init__(self, source: FileSource) -> None:
        """Look at the roots.

        Raises:
            OptionsError: when a pattern is no glob.
        """
        self._rules = NameRules(source)
        self.uris = tuple(dict.fromkeys(map(uris.canonical, source.roots)))
        self._real = {uri: real_uri(uri) for uri in self.uris}

    def path_of(self, uri: str) -> str | None:
        """Return the path of a file below its root, its name where it is the root itself.

        None where the source takes no such file, or where a link below the root leads to it.
        """
        for root in self.uris:
            relative = uris.relative_to(uri, root)
            if relative is None or (relative and not self._rules.takes(relative)):
                continue
            real = self._real[root]
            if real_uri(uri) == (uris.child(real, relative) if relative else real):
                return relative or uris.name_of(uri)
        return None

    def meet(self, folder: str) -> bool:
        """Tell whether a listing of the source comes into this folder, or begins below it."""
        real = real_uri(folder)
        for root in self._real.values():
            relative = uris.relative_to(real, root)
            if (relative is not None and self._rules.reaches(relative)) or uris.relative_to(root, real) is not None:
                return True
        return False
