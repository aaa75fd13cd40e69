"""Selection: which pending files the next window takes, in a stable order and within limits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy import Row, Select, select, tuple_

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, find_feed
from airflow_provider_blockread.ledger.model import PendingFile
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.tables import IS_PENDING, files
from airflow_provider_blockread.options import Limits, Selection

_ORDER = (files.c.mtime_ns, files.c.path, files.c.id)
_COLUMNS = select(files.c.id, files.c.path, files.c.size, files.c.mtime_ns, files.c.etag)


def pending_files(
    ledger: Ledger,
    feed: str,
    selection: Selection,
    *,
    interval_ns: tuple[int, int] | None = None,
    block_size: int,
    whole: Callable[[str], bool] = lambda _: False,
) -> Iterator[PendingFile]:
    """Yield the pending files that a window may take, oldest or newest first by (modification time, path).

    Nothing is held or locked: a file may be gone to another window by the time it is frozen.

    Args:
        ledger: where from.
        feed: the feed's name; an unknown one has no files.
        selection: what to take, in which order, how much.
        interval_ns: half-open, in nanoseconds since the epoch; what `select="interval"` selects by.
        block_size: bytes; what `max_blocks` counts in.
        whole: tells of a path whether its file is one block, however large it is.

    Raises:
        OptionsError: when `select="interval"` comes without an interval; raised at the call.
    """
    if block_size < 1:
        msg = f"feed {feed}: block_size must be at least 1 byte, not {block_size}"
        raise OptionsError(msg)
    bounds: tuple[int, int] | None = None
    if selection.select == "interval":
        if interval_ns is None:
            msg = f"feed {feed}: select='interval' needs a run with a data interval; use select='arrival' here"
            raise OptionsError(msg)
        bounds = interval_ns
    with ledger.reading() as connection:
        feed_id = find_feed(connection, feed)
    query = _COLUMNS.where(files.c.feed_id == feed_id, IS_PENDING)
    if bounds is not None:
        query = query.where(files.c.mtime_ns >= bounds[0], files.c.mtime_ns < bounds[1])
    return _within(selection.limits, block_size, _ordered(ledger, query, selection.order), whole)


def window_files(ledger: Ledger, window_id: str, *, order: str) -> Iterator[PendingFile]:
    """Yield the files that a window holds, in the order in which `pending_files` yielded them."""
    return _ordered(ledger, _COLUMNS.where(files.c.window_id == window_id), order)


def _ordered(ledger: Ledger, wanted: Select[Any], order: str) -> Iterator[PendingFile]:
    query = wanted.limit(BATCH_FILES)
    query = query.order_by(*(column if order == "oldest" else column.desc() for column in _ORDER))
    page: Select[Any] = query
    while True:
        # Page by page from the index, not through an open cursor: the caller writes a manifest in between.
        with ledger.reading() as connection:
            rows = connection.execute(page).all()
        for number, path, size, mtime_ns, etag in rows:
            yield PendingFile(file=number, version=FileVersion(path=path, size=size, mtime_ns=mtime_ns, etag=etag))
        if len(rows) < BATCH_FILES:
            return
        page = _after(query, order, rows[-1])


def _after(query: Select[Any], order: str, row: Row[Any]) -> Select[Any]:
    place = tuple_(*_ORDER)
    last = (row.mtime_ns, row.path, row.id)
    return query.where(place > last if order == "oldest" else place < last)


def _within(
    limits: Limits,
    block_size: int,
    found: Iterable[PendingFile],
    whole: Callable[[str], bool] = lambda _: False,
) -> Iterator[PendingFile]:
    """Yield the longest head that holds all limits together, and the first file whatever its size."""
    if limits == Limits():
        yield from found
        return
    files_left, bytes_left, blocks_left = limits.max_files, limits.max_bytes, limits.max_blocks
    for position, item in enumerate(found):
        size = item.version.size
        blocks = 1 if whole(item.version.path) else -(-size // block_size)
        left = [
            None if limit is None else limit - used
            for limit, used in ((files_left, 1), (bytes_left, size), (blocks_left, blocks))
        ]
        if position and any(rest is not None and rest < 0 for rest in left):
            return
        files_left, bytes_left, blocks_left = left
        yield item
        if files_left == 0:
            return
