"""The files of a source, streamed: several roots, each a folder or one file; a file in several is listed once."""

from __future__ import annotations

import os.path
import re
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.backends.disk_calls import require_utf8
from airflow_provider_blockread.storage.backends.shared.errors import system_error
from airflow_provider_blockread.storage.backends.shared.identity import from_stat
from airflow_provider_blockread.storage.listing.held_back import HeldBack, VersionRules
from airflow_provider_blockread.storage.listing.local import LocalListing, Root, RootListings
from airflow_provider_blockread.storage.listing.markers import DoneMarker, Marked
from airflow_provider_blockread.storage.listing.paged import PagedListing
from airflow_provider_blockread.storage.listing.roots import Inside, LinkRules, bounds_of, real_uri
from airflow_provider_blockread.storage.listing.rules import NameRules
from airflow_provider_blockread.storage.patience import Patience
from airflow_provider_blockread.storage.stores import Stores


def list_files(
    stores: Stores,
    source: FileSource,
    *,
    now_s: float,
    held: HeldBack | None = None,
    absent: Callable[[FileMissingError], None] | None = None,
) -> Iterator[FileVersion]:
    """Yield each file of a source once, root by root in the given order, in a stable order, holding few at a time.

    If a root names a file, patterns and hidden names do not apply to it, but age, size and done-marker do. Files that
    several roots contain are yielded by the first. A file behind a link is listed under the path of the link, unless it
    is listed under its own path, or is outside of all roots and links must not lead there.

    Args:
        stores: opens the roots.
        source: roots and which files to take.
        now_s: the current time in seconds since the epoch; files changed less than `min_age` before it wait.
        held: counts the files that are held back, and why.
        absent: called with the error of each missing root, whose `path` is the root, while the others are listed;
            without it, the error is raised.

    Raises:
        FileMissingError: if a root is missing, and `absent` is not given.
        SourceError: if a folder cannot be read, or a name cannot be stored.
        TransientError: if a folder vanishes while it is listed, or the store fails.
        OptionsError: if a pattern is malformed or a root cannot be addressed.
    """
    held = HeldBack() if held is None else held
    stores = stores.within(bounds_of(source))
    rules, versions = NameRules(source), VersionRules(source, now_s, held)
    roots, links = list(_roots(stores, source, absent)), LinkRules(stores, source)

    def may_follow(uri: str) -> bool:
        follows = links.may_follow(uri)
        if not follows:
            held.add("linked_out", uri)
        return follows

    def paged(uri: str) -> PagedListing:
        is_listed = partial(links.is_listed, rules=rules)
        return PagedListing(uri, stores.pages(uri), rules, may_follow=may_follow, is_listed=is_listed)

    inside, all_roots = Inside.of(source), RootListings(roots, rules)
    local = LocalListing(rules, all_roots, inside, lambda path: held.add("linked_out", uris.file_uri(path)))
    for index, root in enumerate(roots):
        found = _listed(root, local, paged)
        overlapping = [other for other in roots[:index] if _overlap(other.real, root.real)]
        if overlapping:
            found = _not_in(RootListings(overlapping, rules), rules, root, found)
        if rules.marker is not None:
            marked = _marked(rules.marker, stores, inside, held)
            found = marked.of(found) if root.file is None else marked.of_single(found)
        yield from versions.admitted(found)


def _not_in(before: RootListings, rules: NameRules, root: Root, found: Iterator[FileVersion]) -> Iterator[FileVersion]:
    """Yield the files that earlier roots do not contain, and their markers."""
    for version in found:
        relative = version.path[len(root.uri) :]
        if rules.marks(uris.name_of(relative)) or not before.contain(root.real + relative):
            yield version


def listed_as(source: FileSource, uri: str) -> str | None:
    """Return the URI under which a listing of the source would yield a file, by its name alone, or None.

    Links on the local disk are resolved.
    """
    rules, real = NameRules(source), real_uri(uris.canonical(uri))
    for root, tail in _written(source).items():
        relative = uris.relative_to(real, real_uri(root))
        if relative is not None and (rules.matches(relative) if relative else not tail):
            return uris.child(root, relative) if relative else root
    return None


def marked_by(source: FileSource, uri: str) -> tuple[str, str] | None:
    """Return the root and the pattern of the files that a done-marker with this URI marks, by its name alone.

    None if it does not mark files of the source. The root is a file, or a folder of which only direct files are meant.
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
    """Return the reason (see `HeldBack`) why a listing of the source would hold back this file, or None."""
    held, rules, found = HeldBack(), NameRules(source), iter((version,))
    if rules.marker is not None:
        found = _marked(rules.marker, stores, Inside.of(source), held).of_single(found)
    admitted = next(VersionRules(source, now_s, held).admitted(found), None)
    return next(iter(held.counts)) if admitted is None else None


def _marked(marker: DoneMarker, stores: Stores, inside: Inside | None, held: HeldBack) -> Marked:
    """Return a filter for marked files; a marker is a file that is not behind a link that must not be followed."""

    def is_there(uri: str) -> bool:
        path = uris.local_path(uri)
        if path is not None and inside is not None and Path(path).is_symlink():
            return inside.holds(os.path.realpath(path)) and stores.holds_file(uri)
        return stores.holds_file(uri)

    return Marked(marker, is_there, partial(held.add, "unmarked"))


def _listed(root: Root, local: LocalListing, paged: Callable[[str], PagedListing]) -> Iterator[FileVersion]:
    if root.file is not None:
        return iter((root.file,))
    path = uris.local_path(root.uri)
    if path is not None:
        return local.files(path)
    return paged(root.uri).files()


def _overlap(left: str, right: str) -> bool:
    return uris.relative_to(left, right) is not None or uris.relative_to(right, left) is not None


def _written(source: FileSource) -> dict[str, str]:
    """Return the roots, each with its trailing slashes: with any, only a folder is meant."""
    roots: dict[str, str] = {}
    for root in source.roots:
        uri, tail = uris.canonical(root), root[len(root.rstrip("/")) :]
        roots[uri] = min(tail, roots.get(uri, tail))
    return roots


def _roots(stores: Stores, source: FileSource, absent: Callable[[FileMissingError], None] | None) -> Iterator[Root]:
    for uri, tail in _written(source).items():
        try:
            yield from _found(stores, uri, tail)
        except FileMissingError as error:
            if absent is None:
                raise
            absent(error)


def _found(stores: Stores, uri: str, tail: str) -> list[Root]:
    """Return what is at a root: a folder, a file, or, in an object store, possibly both as two roots."""
    path = uris.local_path(uri)
    if path is None:
        return _remote_roots(stores, uri, tail)
    require_utf8(path)
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
    return [Root(uri=uri, real=real_uri(uri), file=file)]


def _remote_roots(stores: Stores, uri: str, tail: str) -> list[Root]:
    pages = stores.pages(uri)
    try:
        file, folder = Patience().ask(uri, lambda: pages.root(uri, tail))
    except FileMissingError as error:
        raise _absent(uri, slash=bool(tail)) from error
    found = [Root(uri=uri, real=real_uri(uri), file=file)] if file is not None else []
    return [*found, Root(uri=uri, real=real_uri(uri), file=None)] if folder else found


def _absent(uri: str, *, slash: bool) -> FileMissingError:
    msg = (
        f"the source {uri}{'/' if slash else ''} does not exist; correct its path, or create it before the first file"
        " lands"
    )
    if "*" in uri or "{" in uri:
        msg += "; a root has no wildcards: name the folder above the first one, and give the rest as pattern"
    return FileMissingError(msg, uri)
