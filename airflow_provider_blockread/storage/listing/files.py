"""The files of a source, streamed: several roots, each a folder or one file, overlapping ones told apart by name."""

from __future__ import annotations

import os.path
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileMissingError, OptionsError, SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends import ObjectPages, WebPages, pages_of
from airflow_provider_blockread.storage.edge import system_error
from airflow_provider_blockread.storage.identity import from_stat
from airflow_provider_blockread.storage.listing.folders import LocalScan, scan_store
from airflow_provider_blockread.storage.listing.holding import HeldBack, VersionRules
from airflow_provider_blockread.storage.listing.markers import Marked
from airflow_provider_blockread.storage.listing.roots import Inside, RemoteLinks, bounds_of, real_uri
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.patience import Patience
from airflow_provider_blockread.storage.stores import Stores


@dataclass(frozen=True, slots=True, kw_only=True)
class _Root:
    """A root of the source: a folder, or the one file it is."""

    uri: str
    real: str  # the URI with links resolved
    file: FileVersion | None


class _OwnScans:
    """What the scans of the roots come to, told from names alone."""

    def __init__(self, roots: Sequence[_Root], rules: NameRules) -> None:
        self._roots = roots
        self._rules = rules
        self._files = frozenset(root.real for root in roots if root.file is not None)

    def lists(self, folder: str) -> bool:
        """Tell whether one of them lists this local folder."""
        inside = (uris.relative_to(uris.file_uri(folder), root.real) for root in self._roots if root.file is None)
        return any(relative is not None and self._rules.reaches(relative) for relative in inside)

    def yields(self, file: str) -> bool:
        """Tell whether one of them yields this local file."""
        return self.holds(uris.file_uri(file))

    def is_root(self, file: str) -> bool:
        """Tell whether this local file is a root itself."""
        return bool(self._files) and uris.file_uri(file) in self._files

    def holds(self, real: str) -> bool:
        """Tell whether one of them yields the file with this real URI."""
        for root in self._roots:
            relative = uris.relative_to(real, root.real)
            if relative is not None and (not relative if root.file else self._rules.takes(relative)):
                return True
        return False


def list_files(
    stores: Stores,
    source: FileSource,
    *,
    now_s: float,
    held: HeldBack | None = None,
    absent: Callable[[FileMissingError], None] | None = None,
) -> Iterator[FileVersion]:
    """Yield each file of a source once, root by root in the order given, in a stable order, holding few at a time.

    A root that names a file is taken as it is: patterns and hidden names do not apply; age, size and done-marker do.
    Files that several roots contain are yielded by the first. A local file or folder behind a link is listed under the
    link's path, unless a root's own scan comes to it, or it lies outside of all roots and links must not lead there.

    Args:
        stores: opens the roots.
        source: roots and which files to take.
        now_s: the present, seconds since the epoch; files changed less than `min_age` before it wait.
        held: counts the files that are held back, and why.
        absent: is told of each root that is missing, and the others are listed; without it, that is an error.

    Raises:
        FileMissingError: when a root is missing, and nobody is told.
        SourceError: when a folder must not be read, or a name cannot be written down.
        TransientError: when a folder vanishes while it is listed, or the store fails.
        OptionsError: when a pattern is none or a root cannot be addressed.
    """
    held = HeldBack() if held is None else held
    stores = stores.within(bounds_of(source))
    rules, versions = NameRules(source), VersionRules(source, now_s, held)
    roots, links = list(_roots(stores, source, absent)), RemoteLinks(stores, source)

    def may_follow(uri: str) -> bool:
        follows = links.may_follow(uri)
        if not follows:
            held.note("linked_out", uri)
        return follows

    inside = Inside.of(source)
    local = LocalScan(rules, _OwnScans(roots, rules), inside, lambda path: held.note("linked_out", uris.file_uri(path)))
    for index, root in enumerate(roots):
        found = _scan(stores, root, rules, local, may_follow)
        overlapping = [other for other in roots[:index] if _overlap(other.real, root.real)]
        if overlapping:
            found = _not_in(_OwnScans(overlapping, rules), rules, root, found)
        if rules.marker is not None:
            marked = Marked(rules.marker, _marker_test(stores, inside), partial(held.add, "unmarked"))
            found = marked.of(found) if root.file is None else marked.looked_for(found)
        yield from versions.admitted(found)


def _not_in(before: _OwnScans, rules: NameRules, root: _Root, found: Iterator[FileVersion]) -> Iterator[FileVersion]:
    """Yield what earlier roots do not, and the markers of it."""
    for version in found:
        relative = version.path[len(root.uri) :]
        if rules.marks(uris.name_of(relative)) or not before.holds(root.real + relative):
            yield version


def takes(source: FileSource, uri: str) -> bool:
    """Tell from names alone whether a listing of the source would yield a file of this URI; links are followed."""
    return listed_as(source, uri) is not None


def listed_as(source: FileSource, uri: str) -> str | None:
    """Return the URI by which a listing of the source would yield a file, from names alone; None where it would not."""
    rules, real = NameRules(source), real_uri(uris.canonical(uri))
    for root, tail in _written(source).items():
        relative = uris.relative_to(real, real_uri(root))
        if relative is not None and (rules.takes(relative) if relative else not tail):
            return uris.child(root, relative) if relative else root
    return None


def marked_by(source: FileSource, uri: str) -> tuple[str, str] | None:
    """Return the root and the pattern of the files that a done-marker of this URI stands for, told from names alone.

    None where it is no marker of files of the source. The root is a file, or a folder whose own files are meant.
    """
    rules, uri = NameRules(source), uris.canonical(uri)
    folder, name = uris.parent(uri), uris.name_of(uri)
    if rules.marker is None or not rules.marks(name):
        return None
    if rules.marker.of_one:
        file = listed_as(source, uris.child(folder, rules.marker.key_of(name)))
        return None if file is None else (file, "**")
    pattern = "**" if rules.marker.of_folder else rf"re:{re.escape(rules.marker.key_of(name))}(\.[^./]*)?"
    for root in map(uris.canonical, source.roots):
        relative = uris.relative_to(real_uri(folder), real_uri(root))
        if relative is not None and rules.reaches(relative):
            return uris.child(root, relative) if relative else root, pattern
    return None


def why_held(stores: Stores, source: FileSource, version: FileVersion, *, now_s: float) -> str | None:
    """Return why a listing of the source would hold back this file of it, one of `REASONS`; None where it would not."""
    held, rules, found = HeldBack(), NameRules(source), iter((version,))
    if rules.marker is not None:
        inside = Inside.of(source)
        found = Marked(rules.marker, _marker_test(stores, inside), partial(held.add, "unmarked")).looked_for(found)
    admitted = next(VersionRules(source, now_s, held).admitted(found), None)
    return next(iter(held.counts)) if admitted is None else None


def _marker_test(stores: Stores, inside: Inside | None) -> Callable[[str], bool]:
    """Return what tells whether a marker is there: a file, and not behind a link that must not be followed."""

    def is_there(uri: str) -> bool:
        path = uris.local_path(uri)
        if path is not None and inside is not None and Path(path).is_symlink():
            return inside.holds(os.path.realpath(path)) and stores.holds_file(uri)
        return stores.holds_file(uri)

    return is_there


def _scan(
    stores: Stores, root: _Root, rules: NameRules, local: LocalScan, may_follow: Callable[[str], bool]
) -> Iterator[FileVersion]:
    if root.file is not None:
        return iter((root.file,))
    path = uris.local_path(root.uri)
    if path is not None:
        return local.files(path)
    store, place = stores.remote(root.uri)
    return scan_store(store, (root.uri, place), rules, may_follow)


def _overlap(left: str, right: str) -> bool:
    return uris.relative_to(left, right) is not None or uris.relative_to(right, left) is not None


def _written(source: FileSource) -> dict[str, str]:
    """Return the roots, and with what slashes behind it each is written: with one it is a folder, whatever is there."""
    roots: dict[str, str] = {}
    for root in source.roots:
        uri, tail = uris.canonical(root), root[len(root.rstrip("/")) :]
        roots[uri] = min(tail, roots.get(uri, tail))
    return roots


def _roots(stores: Stores, source: FileSource, absent: Callable[[FileMissingError], None] | None) -> Iterator[_Root]:
    for uri, tail in _written(source).items():
        try:
            yield from _looked_at(stores, uri, tail)
        except FileMissingError as error:
            if absent is None:
                raise
            absent(error)


def _looked_at(stores: Stores, uri: str, tail: str) -> list[_Root]:
    """Look at a root: a folder, a file, or on object stores both, which are two roots then."""
    path = uris.local_path(uri)
    if path is None:
        return _remote_roots(stores, uri, tail)
    try:
        found = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise _absent(uri, slash=bool(tail)) from error
    except OSError as error:
        raise system_error(uri, error) from error
    if not stat.S_ISDIR(found.st_mode) and not stat.S_ISREG(found.st_mode):
        msg = f"the source {uri} is neither a folder nor a file; correct its path"
        raise SourceError(msg)
    file = from_stat(uri, found) if stat.S_ISREG(found.st_mode) else None
    if file is not None and tail:
        raise _absent(uri, slash=True)
    return [_Root(uri=uri, real=real_uri(uri), file=file)]


def _remote_roots(stores: Stores, uri: str, tail: str) -> list[_Root]:
    store, place = stores.remote(uri)
    pages, slash = pages_of(store, place), bool(tail)
    if len(tail) > 1 and isinstance(pages, ObjectPages):
        msg = f"{uri}{tail} ends in a folder without a name, which cannot be a root; name the one above it, {uri}/"
        raise OptionsError(msg)

    def look() -> tuple[FileVersion | None, bool]:
        if isinstance(pages, ObjectPages | WebPages):
            return pages.root(uri, slash=slash)
        version = store.version(uri, place)
        if version is not None and slash:
            raise FileNotFoundError(place)
        return version, version is None

    try:
        file, folder = Patience().ask(uri, look, time.sleep)
    except FileMissingError as error:
        raise _absent(uri, slash=slash) from error
    found = [_Root(uri=uri, real=real_uri(uri), file=file)] if file is not None else []
    return [*found, _Root(uri=uri, real=real_uri(uri), file=None)] if folder else found


def _absent(uri: str, *, slash: bool) -> FileMissingError:
    return FileMissingError(
        f"the source {uri}{'/' if slash else ''} does not exist; correct its path, or create it before the first file"
        " lands"
    )
