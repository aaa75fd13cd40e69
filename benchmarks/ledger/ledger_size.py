"""A million known files: the size of the ledger for each, and the cost of planning a thousand new ones among them."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import text

from airflow_provider_blockread.blocks import BlockGroup, FileVersion
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import GroupOutcome, GroupRef, NewWindow, Window
from airflow_provider_blockread.ledger.schema.columns import metadata
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.retention import (
    Bound,
    begin_pruning,
    drop_detail,
    finish_pruning,
    old_windows,
)
from airflow_provider_blockread.ledger.windows.groups import claim_group, complete_group
from airflow_provider_blockread.ledger.windows.journal import journal, record_file_sums
from airflow_provider_blockread.ledger.windows.planning import claim_window
from airflow_provider_blockread.ledger.windows.publishing import claim_publication, finish_publication, mark_proven
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.ledger.windows.selection import pending_files
from airflow_provider_blockread.options import Selection
from airflow_provider_blockread.proof.model import FileSums, Sums
from benchmarks.harness.lab import Lab
from benchmarks.harness.measure import Row
from tests.postgres import postgres_server

_FEED = "events"
_WINDOWS = 100  # that take the files one after another, as in production; autovacuum would run between them
_VACUUM = "VACUUM ANALYZE files, file_sums, groups, generations, windows, stretches, taken_files"
_KEPT_DAYS = 30
_NEW = 1_000
_MOST_BYTES = 300.0
_MOST_SECONDS = 2.0
_MS = 1_000_000


class _Vacuumed:
    """A ledger, and its size on disk after a vacuum."""

    def __init__(self, url: str) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.ledger = Ledger(url, now=lambda: self.now)
        self.ledger.upgrade()
        self._file = Path(self.ledger.name.removeprefix("sqlite:///")) if url.startswith("sqlite") else None

    def vacuum(self, how: str = _VACUUM) -> None:
        """Free the space of dead rows; on SQLite, only a full vacuum does."""
        with self.ledger.reading() as connection:
            driver = connection.connection.driver_connection
            assert driver is not None  # noqa: S101 - tells the type
            if self._file is None:
                connection.rollback()
                driver.autocommit = True
                driver.execute(how)
                driver.autocommit = False
            elif how != _VACUUM:
                connection.rollback()
                driver.execute("VACUUM")
                driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def size(self) -> int:
        """Return the bytes of all tables with their indexes."""
        if self._file is not None:
            return self._file.stat().st_size
        query = text("SELECT pg_total_relation_size(CAST(:name AS regclass))")
        with self.ledger.reading() as connection:
            return sum(int(connection.execute(query, {"name": name}).scalar_one()) for name in metadata.tables)


def listing(start: int, stop: int, etag: str | None = None) -> Iterator[FileVersion]:
    """Yield files as a listing does, with paths of 57 characters."""
    for n in range(start, stop):
        yield FileVersion(
            path=f"s3://landing/events/dt=2026-11-{n // 40_000:02}/hr={n // 1_700 % 24:02}/part-{n:010}.csv",
            size=4096 + n % 1000,
            mtime_ns=1_700_000_000_000_000_000 + n * _MS,
            etag=etag and f'"{n:032x}"',
        )


def run(lab: Lab) -> Iterator[Row]:
    """Yield the rows of SQLite and PostgreSQL."""
    files = lab.files * 10
    with tempfile.TemporaryDirectory(prefix="blockread-ledger-", dir=lab.scratch) as folder:
        yield from _rows(f"sqlite:///{folder}/ledger.db", "SQLite", files)
        yield _pruned_daily(f"sqlite:///{folder}/pruned.db", "SQLite", files)
    with postgres_server(waits_for_disk=True) as url:
        yield from _rows(url, "PostgreSQL", files)
    with postgres_server(waits_for_disk=True) as url:
        yield _pruned_daily(url, "PostgreSQL", files)


def _rows(url: str, database: str, files: int) -> Iterator[Row]:
    place = _Vacuumed(url)
    for number in range(_WINDOWS):
        window = _discover_and_plan(place.ledger, _share(files, number), f"w{number:03}", complete=False)
        if number == _WINDOWS - 1:
            place.vacuum()
            yield _bytes(f"{database}: {files:,} known files, the last {window.files:,} planned", place.size() / files)
        _publish(place.ledger, window)
        place.vacuum()
        place.now += timedelta(days=1)
    yield _bytes(f"{database}: {files:,} known files, done", place.size() / files)
    yield from _planning(place, database, files)
    yield from _pruning(place, database, files)
    place.ledger.close()


def _pruned_daily(url: str, database: str, files: int) -> Row:
    place = _Vacuumed(url)
    for number in range(_WINDOWS):
        _publish(place.ledger, _discover_and_plan(place.ledger, _share(files, number), f"w{number:03}", complete=False))
        place.now += timedelta(days=1)
        _prune(place, Bound(before=place.now - timedelta(days=_KEPT_DAYS), keep=2))
        place.vacuum()
    size = place.size() / files
    place.ledger.close()
    return _bytes(f"{database}: {files:,} known files, pruned daily, {_KEPT_DAYS} of {_WINDOWS} days kept", size)


def _share(files: int, number: int) -> Iterator[FileVersion]:
    share = files // _WINDOWS
    return listing(number * share, (number + 1) * share)


def _planning(place: _Vacuumed, database: str, files: int) -> Iterator[Row]:
    """Yield the cost of a plan in addition to its listing, with new files at its end and spread over it."""
    record_files(place.ledger, _FEED, listing(0, files))
    step = files // _NEW
    listings: dict[str, Callable[[], Iterator[FileVersion]]] = {
        "at the end": lambda: listing(0, files + _NEW),
        "all over": lambda: _with_more(listing(0, files + _NEW), step),
    }
    for name, shown in listings.items():
        started = time.perf_counter()
        for _ in shown():
            pass
        listed = time.perf_counter()
        window = _discover_and_plan(place.ledger, shown(), name)
        only, seconds = listed - started, time.perf_counter() - listed
        if window.files != _NEW:
            msg = f"{window.files} files were planned instead of {_NEW}"
            raise ValueError(msg)
        more = seconds - only
        yield Row(
            work=f"{database}: plan {_NEW:,} new files {name} among {files:,} known",
            rival="",
            ours=f"{more:.2f} s and the listing, {only:.2f} s",
            target=f"< {_MOST_SECONDS:g} s and the listing",
            met=more < _MOST_SECONDS,
        )


def _pruning(place: _Vacuumed, database: str, files: int) -> Iterator[Row]:
    started = time.perf_counter()
    _prune(place, Bound(before=place.now, keep=2))
    place.vacuum()
    seconds = time.perf_counter() - started
    yield _bytes(
        f"{database}: the same pruned at once ({seconds:.0f} s), rooms kept for new files",
        place.size() / files,
        limit=False,
    )
    place.vacuum("VACUUM FULL")
    yield _bytes(f"{database}: the same after a full vacuum", place.size() / files)


def _prune(place: _Vacuumed, bound: Bound) -> None:
    for window in old_windows(place.ledger, bound):
        begin_pruning(place.ledger, window.id, bound)
        drop_detail(place.ledger, window.id)
        finish_pruning(place.ledger, window.id)


def _with_more(shown: Iterator[FileVersion], step: int) -> Iterator[FileVersion]:
    for n, version in enumerate(shown):
        yield version
        if n % step == 0 and n // step < _NEW:
            yield FileVersion(path=f"{version.path}.late", size=1, mtime_ns=version.mtime_ns)


def _discover_and_plan(ledger: Ledger, shown: Iterator[FileVersion], key: str, *, complete: bool = True) -> Window:
    record_files(ledger, _FEED, shown, complete=complete)
    return _plan(ledger, key)


def _plan(ledger: Ledger, key: str) -> Window:
    ids = [found.file for found in pending_files(ledger, _FEED, Selection(), block_size=2**26)]
    group = BlockGroup(number=0, files=len(ids), blocks=len(ids), bytes=1, first_path="a", last_path="b")
    plan = NewWindow(
        manifest_uri=f"s3://lake/{key}.parquet", manifest_hash="0" * 64,
        files=len(ids), blocks=len(ids), bytes=1, groups=[group], options={}, clear_number=0,
    )  # fmt: skip
    with claim_window(ledger, _FEED, key, owner="bench") as planner:
        for batch in batched(ids, BATCH_FILES):
            planner.take(batch)
        planner.open(plan)
    return get_window(ledger, planner.window)


def _publish(ledger: Ledger, window: Window) -> None:
    ref = GroupRef(window=window.id, generation=1, group=0)
    claim = claim_group(ledger, ref, owner="bench", clear_number=0, stale_after_s=60)
    assert claim is not None  # noqa: S101 - tells the type
    done = GroupOutcome(result_uri="s3://lake/r.json", result_hash="0", records=1, bad_records=0, rows=1, read_bytes=1)
    complete_group(ledger, claim, done)
    held = claim_publication(ledger, window.id, 1, owner="bench", stale_after_s=60)
    with ledger.reading() as connection:
        ids = list(connection.scalars(text("SELECT id FROM files WHERE window_id = :w"), {"w": window.id}))
    record_file_sums(ledger, held, (FileSums(file=n, records=40, bad_records=0, bytes=4096) for n in ids))
    mark_proven(ledger, held, Sums(records=1, bad_records=0, skipped_records=0, rows=1, bytes=1))
    journal(ledger, held, [])
    finish_publication(ledger, held)


def _bytes(work: str, found: float, *, limit: bool = True) -> Row:
    target = f"< {_MOST_BYTES:g} bytes" if limit else ""
    met = found < _MOST_BYTES if limit else None
    return Row(work=work, rival="", ours=f"{found:.0f} bytes a file", target=target, met=met)
