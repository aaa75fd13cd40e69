"""The views that people query; docs/ledger.md documents their columns."""

from __future__ import annotations

from sqlalchemy import Connection, text

_SHOWN = "g.window_id = w.id AND g.state = 'published'"
# What was begun and is neither published nor completely given up: planned, being planned, or being withdrawn.
_OPEN = f"""w.state <> 'empty' AND NOT EXISTS (SELECT 1 FROM generations g WHERE {_SHOWN})
      AND NOT EXISTS (SELECT 1 FROM withdrawals t WHERE t.window_id = w.id AND t.finished_at IS NOT NULL)"""  # noqa: S608

# The progress of a generation, or of a window without one, as in `ledger.windows.progress`, by the database's clock.
_PROGRESS = """
CASE WHEN w.state <> 'open' OR g.number IS NULL
          THEN CASE WHEN w.state = 'planning' AND {planner_is_stale} THEN 'stalled' ELSE w.state END
     WHEN g.state IN ('published', 'verified', 'superseded') THEN g.state
     WHEN g.publish_owner IS NOT NULL
          THEN CASE WHEN {publisher_is_stale} THEN 'stalled'
                    WHEN g.mode = 'verify' OR g.state = 'reading' THEN 'proving' ELSE 'publishing' END
     WHEN g.error IS NOT NULL THEN 'failed'
     WHEN g.state <> 'reading' THEN 'waiting'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE {mine} AND p.state = 'running' AND NOT {reader_is_stale}) THEN 'reading'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE {mine} AND p.state = 'failed') THEN 'failed'
     WHEN EXISTS (SELECT 1 FROM groups p WHERE {mine} AND p.state = 'running') THEN 'stalled'
     ELSE 'waiting' END"""
_LAST_SIGN = """
CASE WHEN w.state <> 'open' OR g.number IS NULL THEN w.heartbeat_at
     WHEN g.publish_owner IS NOT NULL THEN g.publish_heartbeat_at
     ELSE coalesce(
          (SELECT max(p.heartbeat_at) FROM groups p WHERE {mine} AND p.state = 'running'),
          (SELECT max(i.heard_at) FROM (
               SELECT g.created_at AS heard_at UNION ALL SELECT g.proven_at UNION ALL SELECT g.published_at
               UNION ALL SELECT max(p.heartbeat_at) FROM groups p WHERE {mine}
               UNION ALL SELECT max(p.finished_at) FROM groups p WHERE {mine}) i)) END"""

_FILE_LIFECYCLE = f"""
SELECT d.name AS feed, f.path, f.size, f.mtime_ns, f.time_ns, f.etag, f.state, s.started_at AS discovered_at,
       f.window_id, w.key AS window_key, w.created_at AS planned_at, g.number AS generation,
       CASE WHEN f.state = 'done' THEN g.published_at END AS published_at, coalesce(p.records, f.records) AS records,
       CASE WHEN p.records IS NOT NULL THEN coalesce(p.bad_records, 0)
            WHEN f.records IS NOT NULL THEN coalesce(f.bad_records, 0) END AS bad_records,
       x.reason AS excluded_because, x.who AS excluded_by, f.part_next_offset,
       c.action AS cleaning, c.state AS cleaning_state, c.target AS archived_to, c.finished_at AS cleaned_at
FROM files f
JOIN feeds d ON d.id = f.feed_id
LEFT JOIN listings s ON s.id = f.first_listing
LEFT JOIN windows w ON w.id = f.window_id
LEFT JOIN generations g ON {_SHOWN}
LEFT JOIN exclusions x ON x.window_id = f.window_id AND x.file_id = f.id AND x.generation IS NULL
LEFT JOIN cleanings c ON c.file_id = f.id
LEFT JOIN (
    SELECT p.file_id, CAST(sum(p.records) AS BIGINT) AS records, CAST(sum(p.bad_records) AS BIGINT) AS bad_records
    FROM parts p JOIN generations g ON g.window_id = p.window_id AND g.state = 'published' GROUP BY p.file_id
) p ON p.file_id = f.id
"""  # noqa: S608 - a constant

_WINDOW_AUDIT = f"""
SELECT d.name AS feed, w.id AS window_id, w.key AS window_key, w.sequence, w.state AS window_state,
       w.owner AS planned_by, w.created_at AS planned_at, w.pruned_at, w.files, w.blocks, w.bytes,
       (SELECT count(*) FROM exclusions x WHERE x.window_id = w.id AND x.generation IS NULL) AS excluded_files,
       g.number AS generation, g.state AS generation_state, {_PROGRESS} AS progress,
       {_LAST_SIGN} AS last_sign_at, g.mode, g.clear_number, w.groups,
       CASE WHEN g.state IN ('proven', 'publishing', 'published', 'verified') THEN w.groups
            ELSE (SELECT CAST(sum(CASE WHEN p.state = 'done' THEN 1 ELSE 0 END) AS BIGINT) FROM groups p
                  WHERE p.window_id = g.window_id AND p.generation = g.number) END AS groups_done,
       g.records, g.bad_records, g.skipped_records, g.rows AS output_rows, g.digest,
       (SELECT CASE WHEN g.state = 'superseded' THEN nullif(count(*), 0) ELSE count(*) END FROM outputs p
        WHERE p.window_id = g.window_id AND p.generation = g.number) AS output_files,
       g.created_at AS started_at, g.proven_at, g.published_at, g.error
FROM windows w
JOIN feeds d ON d.id = w.feed_id
LEFT JOIN generations g ON g.window_id = w.id
"""  # noqa: S608 - a constant

_BACKLOG = f"""
SELECT d.name AS feed,
       coalesce(p.files, 0) AS pending_files, coalesce(p.bytes, 0) AS pending_bytes, p.oldest_ns AS oldest_pending_ns,
       coalesce(w.windows, 0) AS open_windows, coalesce(h.files, 0) AS open_files, coalesce(h.bytes, 0) AS open_bytes,
       w.oldest_at AS oldest_open_at,
       coalesce(t.failed, 0) AS failed_windows, coalesce(t.stalled, 0) AS stalled_windows,
       coalesce(l.missing, 0) AS missing_files, coalesce(l.changed, 0) AS changed_files,
       coalesce(l.ignored, 0) AS ignored_files,
       (SELECT max(s.finished_at) FROM listings s WHERE s.feed_id = d.id) AS last_listed_at
FROM feeds d
LEFT JOIN (
    SELECT feed_id, count(*) AS files, CAST(sum(size - coalesce(part_next_offset, 0)) AS BIGINT) AS bytes,
           min(time_ns) AS oldest_ns
    FROM files WHERE state = 'pending' GROUP BY feed_id
) p ON p.feed_id = d.id
LEFT JOIN (
    SELECT w.feed_id, count(*) AS windows, min(w.created_at) AS oldest_at
    FROM windows w WHERE {_OPEN} GROUP BY w.feed_id
) w ON w.feed_id = d.id
LEFT JOIN (
    SELECT feed_id, count(*) AS files, CAST(sum(bytes) AS BIGINT) AS bytes
    FROM (
        SELECT w.feed_id, f.size AS bytes
        FROM windows w CROSS JOIN files f
        WHERE f.window_id = w.id AND f.state IN ('planned', 'done') AND {_OPEN}
          AND NOT EXISTS (SELECT 1 FROM parts p WHERE p.window_id = w.id AND p.file_id = f.id)
        UNION ALL
        SELECT w.feed_id, p.part_end - p.part_start
        FROM windows w CROSS JOIN parts p WHERE p.window_id = w.id AND {_OPEN}
    ) i
    GROUP BY feed_id
) h ON h.feed_id = d.id
LEFT JOIN (
    SELECT feed_id, sum(CASE WHEN progress = 'failed' THEN 1 ELSE 0 END) AS failed,
           sum(CASE WHEN progress = 'stalled' THEN 1 ELSE 0 END) AS stalled
    FROM (SELECT w.feed_id, {_PROGRESS} AS progress FROM windows w LEFT JOIN generations g ON g.window_id = w.id) i
    GROUP BY feed_id
) t ON t.feed_id = d.id
LEFT JOIN (
    SELECT feed_id, sum(CASE WHEN state = 'missing' THEN 1 ELSE 0 END) AS missing,
           sum(CASE WHEN state = 'changed' THEN 1 ELSE 0 END) AS changed,
           sum(CASE WHEN state = 'ignored' THEN 1 ELSE 0 END) AS ignored
    FROM files WHERE state IN ('missing', 'changed', 'ignored') GROUP BY feed_id
) l ON l.feed_id = d.id
"""  # noqa: S608 - a constant


VIEWS = {"file_lifecycle": _FILE_LIFECYCLE, "window_audit": _WINDOW_AUDIT, "backlog": _BACKLOG}


def create(connection: Connection) -> None:
    """Create the views."""
    words = {
        "planner_is_stale": _stale(connection, "w.heartbeat_at", "120"),
        "publisher_is_stale": _stale(connection, "g.publish_heartbeat_at", "120"),
        "reader_is_stale": _stale(connection, "p.heartbeat_at", "p.stale_after_s"),
        "mine": "p.window_id = g.window_id AND p.generation = g.number",
    }
    for name, query in VIEWS.items():
        connection.execute(text(f"CREATE VIEW {name} AS {query.format(**words).strip()}"))


def drop(connection: Connection) -> None:
    """Drop the views, whatever version of this package made them: a table with a view cannot be changed."""
    for name in VIEWS:
        connection.execute(text(f"DROP VIEW IF EXISTS {name}"))


def _stale(connection: Connection, heartbeat: str, seconds: str) -> str:
    """Return the condition that a heartbeat is older than this many seconds, by the database's clock."""
    if connection.dialect.name == "sqlite":
        return f"({heartbeat} < strftime('%Y-%m-%d %H:%M:%f', 'now', '-' || {seconds} || ' seconds'))"
    return f"({heartbeat} < now() - {seconds} * interval '1 second')"
