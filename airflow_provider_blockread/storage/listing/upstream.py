"""Files named by another system: paths in a list, each checked in its store, many at a time."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import BinaryIO, cast

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileMissingError, SourceError
from airflow_provider_blockread.options import FileList, FileSource
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.at_once import ask_ahead
from airflow_provider_blockread.storage.backends.shared.errors import translated
from airflow_provider_blockread.storage.listing.held_back import HeldBack
from airflow_provider_blockread.storage.listing.roots import LinkRules
from airflow_provider_blockread.storage.schemes import scheme_for
from airflow_provider_blockread.storage.stores import Stores

_BATCH = 1000  # paths held at once
_LONGEST = 2**20  # bytes of a line
_BOM = b"\xef\xbb\xbf"
_CLIMBS = re.compile(r"/(?:\.|%2e){2}(?:[/?#\\]|%5c|$)", re.IGNORECASE)  # what servers and clients read as `..`


def read_list(stores: Stores, listed: FileList) -> Iterator[str]:
    """Yield the paths that a list names, unchanged.

    Raises:
        FileMissingError: if the list is not there.
        SourceError: if a line is not a path; naming its number.
    """
    uri = stores.canonical(listed.uri)
    with io.BufferedReader(cast("io.RawIOBase", _opened(stores, uri)), _LONGEST) as file, translated(uri):
        lines = iter(partial(file.readline, _LONGEST + 1), b"")  # what is longer is not a path
        for number, line in enumerate((line.removesuffix(b"\n") for line in lines), 1):
            path = _path(line.removeprefix(_BOM) if number == 1 else line, is_json=listed.is_json)
            if path is None:
                what = "a JSON text or an object with the text `path`" if listed.is_json else "a path in UTF-8"
                advice = "correct the list, or give its format by its suffix (.jsonl for JSON) or FileList(format=...)"
                msg = f"{uri} line {number:,} is not {what}{_quoted(uri, line)}; {advice}"
                raise SourceError(msg, uri)
            if path:
                yield path


def _quoted(uri: str, line: bytes) -> str:
    """Return the beginning of a line for a message, but nothing from a file to which a link may have led."""
    path = uris.local_path(uri)
    return "" if path is not None and os.path.realpath(path) != path else f", but {line[:80]!r}"


def _opened(stores: Stores, uri: str) -> BinaryIO:
    try:
        return stores.open_read(uri)
    except FileMissingError as error:
        msg = f"the list {uri} does not exist; correct its place, or write it before the plan runs"
        raise FileMissingError(msg, uri) from error


def _path(line: bytes, *, is_json: bool) -> str | None:
    """Return the path in a line, an empty string for a blank line, or None if there is no path."""
    if len(line) > _LONGEST:
        return None
    try:
        text = line.decode().removesuffix("\r")
        if not is_json or not text.strip():
            return None if "\0" in text else text if text.strip() else ""
        return path_of(json.loads(text))
    except (ValueError, RecursionError):  # the latter from deeply nested lists
        return None


def path_of(named: object) -> str | None:
    """Return a path given as text, or as an object with a `path`, or None for anything else."""
    path = named.get("path") if isinstance(named, Mapping) else named
    return path if isinstance(path, str) and path.strip() else None


def named_files(
    stores: Stores, source: FileSource, paths: Iterable[str], held: HeldBack | None = None
) -> Iterator[FileVersion]:
    """Yield the versions of files by their paths, in order; a path that is repeated soon is yielded once.

    Stores that serve requests in parallel are asked about many files at a time. Patterns and other rules of the source
    do not apply, since each file was chosen by name, but its bounds for links do.

    Args:
        stores: opens the roots.
        source: the source, whose roots must contain all paths.
        paths: the paths that upstream names.
        held: counts the files that are left out, and why.

    Raises:
        SourceError: if a path is not in any of the source's roots, or is not a file.
        FileMissingError: if nothing is there.
        OptionsError: if a path cannot be addressed.
    """
    roots = [uris.canonical(root) for root in source.roots]
    named = (_inside(uris.canonical(path), roots) for path in paths)
    held = HeldBack() if held is None else held
    look_up = partial(_version, stores, LinkRules(stores, source))
    for uri, version in ask_ahead(stores, _without_repeats(named), look_up, lambda uri: uri):
        if (found := version()) is None:
            held.add("linked_out", uri)
        else:
            yield found


def _without_repeats(named: Iterator[str]) -> Iterator[str]:
    while batch := dict.fromkeys(islice(named, _BATCH)):
        yield from batch


def _inside(uri: str, roots: list[str]) -> str:
    climbs = scheme_for(uri).decodes and _CLIMBS.search(uri) is not None
    if not climbs and any(uris.relative_to(uri, root) is not None for root in roots):
        return uri
    msg = (
        f"{uris.readable_uri(uri)} is named upstream, but is in none of the source's roots ({', '.join(roots)}); add"
        " its folder to the roots, or leave it out of the list"
    )
    raise SourceError(msg, uri)


def _version(stores: Stores, links: LinkRules, uri: str) -> FileVersion | None:
    """Return the version of a file, or None if a link leads out of the source."""
    try:
        return stores.stat(uri) if links.may_follow(uri) else None
    except FileMissingError as error:
        msg = f"{uris.readable_uri(uri)} is named upstream, but does not exist; restore it, or leave it out of the list"
        raise FileMissingError(msg, uri) from error
