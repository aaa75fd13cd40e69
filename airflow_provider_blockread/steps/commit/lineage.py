"""What a published window has read and written, in the numbers that lineage needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from airflow_provider_blockread.exchange.results import columns_of, read_result
from airflow_provider_blockread.ledger.overview.window import WindowFile, window_detail, window_files
from airflow_provider_blockread.ledger.windows.exclusions import excluded_files
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.steps.model import Environment, Published
from airflow_provider_blockread.storage import uris

_LISTED = 1000  # files of a root; if there are more, none is listed
_PAGE = 10_000  # files per query


@dataclass(kw_only=True)
class RootRead:
    """What a window read below one root of its source; `paths` is empty if there are too many to list."""

    root: str
    files: int = 0
    bytes: int = 0
    records: int = 0
    paths: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """What a window has read, and what was published."""

    read: Sequence[RootRead]
    files: int
    rows: int
    bytes: int
    first_file: str  # URI of a published file; empty if there is none
    columns: Sequence[tuple[str, str]]  # names and types of the output, as far as they are known


def lineage_of(env: Environment, done: Published, roots: Sequence[str]) -> Lineage:
    """Return the lineage of a window that was just published; its files are below these roots."""
    detail = window_detail(env.ledger, done.window, done.generation)
    return Lineage(
        read=_read(env, done, [uris.canonical(root) for root in roots]),
        files=detail.published.files,
        rows=detail.published.rows,
        bytes=detail.published.bytes,
        first_file=next((file.uri for file in detail.outputs if file.kind == "output"), ""),
        columns=_columns(env, done),
    )


def _read(env: Environment, done: Published, roots: Sequence[str]) -> list[RootRead]:
    """Return the sums for each root with files of the window; for a file below no root, its folder counts as one."""
    if len(roots) == 1 and done.files > _LISTED:  # sums suffice, without a query for files
        return [RootRead(root=roots[0], files=done.files, bytes=done.bytes, records=done.records)]
    found: dict[str, RootRead] = {}
    for file in _files(env, done):
        holding = [root for root in roots if uris.relative_to(file.path, root) is not None]
        root = max(holding, key=len, default=uris.parent(file.path))
        of_root = found.setdefault(root, RootRead(root=root))
        of_root.files += 1
        of_root.bytes += file.size if file.start is None or file.end is None else file.end - file.start
        of_root.records += file.records or 0
        of_root.paths = [*of_root.paths, file.path] if of_root.files <= _LISTED else []
    return list(found.values())


def _files(env: Environment, done: Published) -> Iterator[WindowFile]:
    """Yield the files that the window read."""
    excluded, last = set(excluded_files(env.ledger, done.window, done.generation)), 0
    while page := window_files(env.ledger, done.window, done.generation, after=last, limit=_PAGE):
        yield from (file for file in page if file.id not in excluded)
        last = page[-1].id


def _columns(env: Environment, done: Published) -> list[tuple[str, str]]:
    """Return the columns of the output, from the text in the result of a group with rows."""
    for group in list_groups(env.ledger, done.window, done.generation):
        if group.result_uri and (text := read_result(env.stores, group.result_uri, str(group.result_hash)).schema):
            return [(name, kind.removesuffix(" not null")) for name, kind in columns_of(text)]
    return []
