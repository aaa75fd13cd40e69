"""What is already known about the paths in a listing: their versions, and which of them the listing replaces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, exists, literal, select, type_coerce
from sqlalchemy.types import NullType

from airflow_provider_blockread.ledger.dialect import among, text_digest, use_indexes
from airflow_provider_blockread.ledger.feeds import find_feed
from airflow_provider_blockread.ledger.files.stretches import forget
from airflow_provider_blockread.ledger.schema.columns import short_text
from airflow_provider_blockread.ledger.schema.file_tables import taken_files
from airflow_provider_blockread.ledger.schema.tables import IS_PENDING, files, windows
from airflow_provider_blockread.ledger.store import Ledger

_TAKEN = frozenset({"planned", "done", "quarantined"})
_UNREAD = frozenset({"pending", "ignored"})


class Known(NamedTuple):
    """A version of a path; for pruned files only the digests and the state."""

    id: int
    path_digest: str
    version_digest: str
    state: str
    time_ns: int
    first_listing: int
    part_next_offset: int | None  # where the next part begins, if windows have taken parts of the file
    is_empty: bool  # known to have no bytes


def known_versions(connection: Connection, feed_id: int, digests: list[str]) -> dict[str, list[Known]]:
    """Return the known versions of these paths, by the paths' digests."""
    known: dict[str, list[Known]] = {}
    use_indexes(connection)
    text_of = text_digest(connection)
    for table in (files, taken_files):  # in this order, since pruning moves files from the first to the second
        if table is taken_files and not connection.scalar(select(exists().select_from(taken_files))):
            break
        columns = [_column(table, name) for name in Known._fields]
        wanted = among(connection, table.c.path_digest, digests)
        query = select(*columns).where(table.c.feed_id == feed_id, wanted)
        for row in connection.execute(query).all():
            path = text_of(row[1])
            known.setdefault(path, []).append(Known(row[0], path, short_text(row[2]), *row[3:]))
    return known


def _column(table: Table, name: str) -> ColumnElement[Any]:
    if name == "is_empty" and table is files:
        return type_coerce(files.c.size == 0, NullType())
    return type_coerce(table.c[name], NullType()) if name in table.c else literal(0)


def was_taken(known: Iterable[Known], *, reads_empty: bool) -> bool:
    """Return whether windows have taken records of a path.

    An empty version has none unless the format `reads_empty`, and many programs create a file before they write it.
    """
    return any(row.state in _TAKEN or row.part_next_offset for row in known if reads_empty or not row.is_empty)


def left_by(known: Iterable[Known], version: str) -> list[Known]:
    """Return which versions of a path `drop_replaced` would keep, if a listing shows the version with this digest."""
    return [row for row in known if row.version_digest == version or row.state not in _UNREAD or row.part_next_offset]


def drop_replaced(
    connection: Connection, feed_id: int, seen: Mapping[str, str], known: Mapping[str, list[Known]]
) -> tuple[dict[str, list[Known]], list[str]]:
    """Delete unread versions that the listing no longer shows; the feed's lock keeps planners from taking them.

    If windows have read a part of the file, the rest becomes `changed` instead, and what they read is kept.

    Args:
        connection: a transaction that holds the feed's lock.
        feed_id: the feed's id.
        seen: the digest of the listed version, by the digest of its path.
        known: the result of `known_versions` for these paths.

    Returns:
        What is known from now on, and the digests of the paths that were read in part.
    """
    stale = [
        row
        for digest, rows in known.items()
        for row in rows
        if row.state in _UNREAD and row.version_digest != seen[digest]
    ]
    if not stale:  # the usual case
        return dict(known), []
    begun = [row for row in stale if row.part_next_offset]
    if begun:
        change = files.update().where(files.c.id.in_([row.id for row in begun])).values(state="changed")
        connection.execute(change)
    dropped = {row.id: row.first_listing for row in stale if not row.part_next_offset}
    if dropped:
        connection.execute(files.delete().where(files.c.id.in_(list(dropped)), files.c.state.in_(_UNREAD)))
        forget(connection, feed_id, min(dropped.values()))
    # A path stays known even if its only version is dropped: the new version is a modification, not a discovery.
    left = {digest: [row for row in rows if row.id not in dropped] for digest, rows in known.items()}
    return left, [row.path_digest for row in begun]


def leave_out(ledger: Ledger, feed: str) -> None:
    """Leave out the files that wait in a feed without a window, as if they were too old; each listing decides again."""
    is_planned = exists().where(windows.c.feed_id == files.c.feed_id, windows.c.state == "open")
    with ledger.writing() as connection:
        waiting = files.update().where(files.c.feed_id == find_feed(connection, feed), IS_PENDING, ~is_planned)
        connection.execute(waiting.values(state="ignored"))
