"""Looks for files: whether a plan made now would find enough to read. The feed's memory is read, but never written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.unread import unread_files
from airflow_provider_blockread.ledger.windows.planning import find_window
from airflow_provider_blockread.options import FileSource, Selection, moment, utc_text
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.storage.listing.files import list_files

#: The most paths in a result, and their total number of characters, so that it stays small.
SHOWN, SHOWN_CHARACTERS = 20, 16_000


@dataclass(frozen=True, kw_only=True)
class NewFilesQuery:
    """What to look for: `min_files` and `min_bytes` must both be reached, or any file must be `max_delay` old.

    `key` is the key of the window that the run plans: once it is planned, there is nothing to wait for. Nor is there if
    the plan may only replay a window, as that of a backfill may.
    """

    feed: str
    source: FileSource
    selection: Selection = Selection()
    key: str | None = None
    interval_ns: tuple[int, int] | None = None
    min_files: int = 1
    min_bytes: int = 0
    max_delay: float | None = None  # seconds since the oldest file was modified
    replay_only: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return this as JSON; it contains no credentials, only names of connections."""
        options = {"source": self.source.to_json(), "selection": self.selection.to_json()}
        interval = None if self.interval_ns is None else list(self.interval_ns)
        return {**vars(self), **options, "interval_ns": interval}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the query from its JSON."""
        interval = data["interval_ns"]
        options = {"source": from_json(data["source"]), "selection": from_json(data["selection"])}
        return cls(**{**data, **options, "interval_ns": None if interval is None else (interval[0], interval[1])})


@dataclass(frozen=True, kw_only=True)
class FilesFound(AsJson):
    """New files of a feed, in totals. `paths` has all of them if they are few, otherwise the first ones."""

    feed: str
    files: int = 0
    bytes: int = 0
    oldest: str | None = None  # when the oldest was modified; None if the store does not report it
    paths: tuple[str, ...] = ()
    why: str = ""  # enough | delay: one has waited long enough | planned: the plan takes no new files; empty: wait on

    def __str__(self) -> str:
        oldest = f", the oldest of {self.oldest}" if self.oldest else ""
        return f"feed {self.feed}: {plural(self.files, 'new file')}, {format_bytes(self.bytes)}{oldest}"


def find_new_files(env: Environment, query: NewFilesQuery) -> FilesFound:
    """Return the files that a plan made now would take as new ones.

    Raises:
        SourceError: when a root cannot be listed, or a file violates an option of the selection that is set to `fail`.
        TransientError: when the store or the ledger fails.
    """
    window = None if query.key is None else find_window(env.ledger, query.feed, query.key)
    if query.replay_only or (window is not None and window.state in {"open", "abandoned"}):
        return FilesFound(feed=query.feed, why="planned")
    now = env.ledger.now()
    rules = Admission.of(query.source, query.selection, now)
    unread = unread_files(env.ledger, query.feed, listed(env, query), rules=rules, interval_ns=query.interval_ns)
    found = summed(query.feed, unread)
    found = dataclasses.replace(found, why=_why(query, found, now))
    env.observer.log(str(found))
    return found


def listed(env: Environment, query: NewFilesQuery) -> Iterator[FileVersion]:
    """Yield the files of the query's source; a root that does not exist yet has no files, which is logged."""
    return list_files(
        env.stores,
        query.source,
        now_s=env.ledger.now().timestamp(),
        absent=lambda error: env.observer.log(f"feed {query.feed}: {error}"),
    )


def summed(feed: str, versions: Iterable[FileVersion]) -> FilesFound:
    """Return the totals of files, computed in constant memory."""
    count = size = room = 0
    oldest_ns: int | None = None
    paths: list[str] = []
    for version in versions:
        count += 1
        size += version.size
        if version.mtime_ns and (oldest_ns is None or version.mtime_ns < oldest_ns):
            oldest_ns = version.mtime_ns
        room += len(version.path)
        if count == len(paths) + 1 and count <= SHOWN and room <= SHOWN_CHARACTERS:
            paths.append(version.path)
    oldest = None if oldest_ns is None else utc_text(moment(oldest_ns))
    return FilesFound(feed=feed, files=count, bytes=size, oldest=oldest, paths=tuple(paths))


def _why(query: NewFilesQuery, found: FilesFound, now: datetime) -> str:
    if not found.files:
        return ""
    if found.files >= query.min_files and found.bytes >= query.min_bytes:
        return "enough"
    if query.max_delay is None:
        return ""
    waited = None if found.oldest is None else (now - datetime.fromisoformat(found.oldest)).total_seconds()
    return "delay" if waited is None or waited >= query.max_delay else ""
