"""A ledger of 100,000 windows, by a few statements: read, failed, rebuilt, and files that wait."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Connection, text

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.blocks.ids import path_digest
from airflow_provider_blockread.exchange.manifest import write_manifest
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.storage.stores import Stores

WINDOWS = 100_000  # a feed of a year, every ten minutes, and as many of other feeds
BIG = 100_000  # files of one window
WAITING = 50_000  # files

_FEEDS = 20  # the first has half of the windows
_GROUPS = 4
_SLOT_NS = 1800 * 10**9  # from one window to the next
_OPTIONS = (
    '{{"kind": "generation", "record_format": {{"kind": "lines"}}, "sink": {{"kind": "parquet", "uri": "{lake}"}}}}'
)
_LINE = b"2026-11-22 14:00:03 GET /item/4711 200\n"

#: One window an hour in the first feed, and as many in all others; of the newest, some failed and one is being read.
_FILL = """
INSERT INTO feeds (id, name, created_at) SELECT n, 'feed.' || n, now() FROM generate_series(1, {feeds}) n;
INSERT INTO listings (feed_id, started_at, finished_at, seen, new, modified, ignored, source)
SELECT 1 + n % {feeds}, now() - n * interval '3 min', now() - n * interval '3 min', 9, 9, 0, 0,
       '{{"uris": ["s3://landing/events"]}}'
FROM generate_series({listings}, 1, -1) n;
INSERT INTO windows (id, feed_id, key, sequence, state, epoch, owner, heartbeat_at, created_at, manifest_uri,
                     manifest_hash, files, blocks, groups, bytes, run, interval_start_ns, interval_end_ns)
SELECT lpad(to_hex(n), 16, '0'), CASE WHEN n % 2 = 0 THEN 1 ELSE 2 + (n / 2) % ({feeds} - 1) END,
       to_char(now() - n * interval '30 min', 'YYYY-MM-DD"T"HH24:MI'), {windows} - n + 1, 'open', 1,
       'etl_' || n % 7 || '/scheduled__' || n || '/read.plan/-1', now(), now() - n * interval '30 min',
       'file:///nowhere/manifest.parquet', 'hash',
       CASE WHEN n = {windows} THEN {big} ELSE {each} END, CASE WHEN n = {windows} THEN {big} ELSE {each} END,
       {groups}, 1e9, 'etl_' || n % 7 || '/scheduled__' || n,
       CASE WHEN n % 2 = 0 THEN {now_ns} - n * {slot_ns} END,
       CASE WHEN n % 2 = 0 THEN {now_ns} - (n - 2) * {slot_ns} END
FROM generate_series(1, {windows}) n;
INSERT INTO feed_dags SELECT DISTINCT feed_id, split_part(run, '/', 1) FROM windows;
INSERT INTO generations (window_id, number, state, mode, options, options_digest, clear_number, publish_epoch, records,
                         bad_records, skipped_records, rows, bytes, error, created_at, proven_at, published_at, run)
SELECT w.id, g,
       CASE WHEN g < 1 + n % 2 THEN 'superseded' WHEN n <= 40 AND n % 2 = 0 THEN 'reading'
            ELSE 'published' END,
       'write', '{options}', 'digest', 0, 1, 100000 + n, n % 3, 0, 100000, 1e9, NULL, w.created_at,
       CASE WHEN n > 40 OR n % 2 = 1 THEN w.created_at + interval '5 min' END,
       CASE WHEN n > 40 OR n % 2 = 1 THEN w.created_at + interval '6 min' END, w.run
FROM (SELECT *, {windows} - sequence + 1 AS n FROM windows) w, generate_series(1, 2) g WHERE g <= 1 + n % 2;
INSERT INTO groups (window_id, generation, number, state, owner, heartbeat_at, clear_number, files, blocks, bytes,
                    first_path, last_path, records, read_bytes, reader_seconds, result_uri, error, started_at,
                    finished_at, epoch)
SELECT g.window_id, g.number, k, CASE WHEN g.state <> 'reading' OR k > 0 THEN 'done' ELSE 'failed' END,
       g.run || '/read.read/' || k, now(), 0, {each} / {groups}, {each} / {groups}, 2.5e8, 's3://landing/a', 's3://landing/b',
       25000, 2.5e8, 10, 'file:///nowhere/result.json', CASE WHEN g.state = 'reading' AND k = 0 THEN
       'RecordError: record at byte 1 of s3://landing/a' END, g.created_at, g.created_at + interval '4 min', 1
FROM generations g, generate_series(0, {groups} - 1) k WHERE g.state <> 'superseded';
INSERT INTO outputs (window_id, generation, seq, kind, uri, source, size, rows, partition, statistics)
SELECT g.window_id, g.number, k, 'output', 's3://lake/events/part-' || k || '.parquet', 's3://area/part', 1e8, 25000,
       '{{}}', '{{}}'
FROM generations g, generate_series(0, {groups} - 1) k WHERE g.state = 'published';
INSERT INTO files (size, mtime_ns, time_ns, version_digest, records, bad_records, feed_id, first_listing, last_listing,
                   path_digest, state, window_id, path)
SELECT 1000000 + k, extract(epoch FROM w.created_at)::bigint * 1000000000,
       extract(epoch FROM w.created_at)::bigint * 1000000000, k, 1000, CASE WHEN k % 50 = 0 THEN 1 END, w.feed_id, 1, 1,
       md5(w.id || '/' || k)::uuid, 'done', w.id,
       's3://landing/events/' || to_char(w.created_at, 'YYYY-MM-DD/HH24') || '/part-' || w.id || '-' || k || '.jsonl'
FROM windows w, generate_series(1, w.files) k;
INSERT INTO files
    (size, mtime_ns, time_ns, version_digest, feed_id, first_listing, last_listing, path_digest, state, path)
SELECT 1000000, extract(epoch FROM now())::bigint * 1000000000 - k * 1000000::bigint,
       CASE WHEN k % 100 = 0 THEN {now_ns} - k * {slot_ns} / 20 ELSE 1700000000000000000 + k END, k,
       CASE WHEN k % 2 = 0 THEN 1 ELSE 2 + k % ({feeds} - 1) END, 1, 1, md5('w' || k)::uuid,
       CASE WHEN k % 25 = 0 THEN 'ignored' ELSE 'pending' END, 's3://landing/events/waiting/' || k || '.jsonl'
FROM generate_series(1, {waiting}) k;
"""

_OF_BIG = """
SELECT id, path, size, mtime_ns FROM files WHERE window_id = (SELECT id FROM windows ORDER BY files DESC LIMIT 1)
ORDER BY id
"""
_LANDED = """
UPDATE files SET path = :path, size = :size, mtime_ns = :at, path_digest = cast(:digest AS uuid)
WHERE id = (SELECT min(files.id) FROM files WHERE window_id = (SELECT id FROM windows ORDER BY files DESC LIMIT 1))
"""


def fill(ledger: Ledger, each: int, folder: Path) -> None:
    """Fill a new ledger on PostgreSQL: most windows have `each` files; one file and one manifest exist in `folder`."""
    numbers = {
        "now_ns": time.time_ns(),
        "slot_ns": _SLOT_NS,
        "feeds": _FEEDS,
        "windows": WINDOWS,
        "listings": WINDOWS,
        "each": each,
        "groups": _GROUPS,
    }
    options = _OPTIONS.format(lake=(folder / "lake").as_uri())
    filled = _FILL.format(**numbers, big=BIG, waiting=WAITING, options=options)
    with ledger.writing() as connection:
        for statement in filled.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement.replace("%", "%%"))
        _name_one(connection)
        _plan_big(connection, folder)
    with ledger.reading() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("VACUUM ANALYZE"))


def _name_one(connection: Connection) -> None:
    """Give one file the digest by which it is found."""
    found = connection.execute(text("SELECT id, path FROM files WHERE id = (SELECT max(id) / 2 FROM files)")).one()
    values = {"id": found.id, "digest": path_digest(found.path)}
    connection.execute(text("UPDATE files SET path_digest = cast(:digest AS uuid) WHERE id = :id"), values)


def _plan_big(connection: Connection, folder: Path) -> None:
    """Write the manifest of the window of most files, of which the first one exists."""
    path = folder / "landed.log"
    path.write_bytes(_LINE * 100_000)
    found = path.stat()
    landed = {
        "path": path.as_uri(),
        "size": found.st_size,
        "at": found.st_mtime_ns,
        "digest": path_digest(path.as_uri()),
    }
    connection.execute(text(_LANDED), landed)
    rows = connection.execute(text(_OF_BIG))

    def blocks() -> Iterator[Block]:
        for number, row in enumerate(rows):
            version = FileVersion(row.path, row.size, row.mtime_ns)
            yield Block(number, number * _GROUPS // BIG, row.id, version, 0, row.size, 0, row.size)

    uri = (folder / "manifest.parquet").as_uri()
    hashed = write_manifest(Stores(), uri, blocks(), identity={}).hash
    query = text("UPDATE windows SET manifest_uri = :uri, manifest_hash = :hash WHERE files = :big")
    connection.execute(query, {"uri": uri, "hash": hashed, "big": BIG})
