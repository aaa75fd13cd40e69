"""The ledger's tables, and with them the stored format.

- Times are UTC. PostgreSQL stores `timestamptz`, SQLite ISO 8601 text without an offset. `mtime_ns` is nanoseconds
  since the epoch, as the store reports it. Sizes, `bytes` and offsets are bytes.
- A path is a canonical URI, never percent-encoded, and sorts by its UTF-8 bytes. Digests are 32 lower-case hex
  digits, window ids 16: see `blocks.ids`. Those of files, of which there are many, are stored in binary: the path's in
  16 bytes, the version's first 16 digits as a signed number.
- Ids of feeds, listings and files increase and are never reused.
- An epoch counts the attempts at one thing (planning a window, running a group, publishing a generation); the attempt
  with the highest one owns it.
- Never stored: credentials, records, and anything per block (that stays in the manifest and the receipts).
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    Double,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

from airflow_provider_blockread.ledger.schema.columns import (
    DIGEST,
    FILE_STATES,
    GENERATION_MODES,
    GENERATION_STATES,
    GROUP_STATES,
    ID,
    PATH,
    WINDOW,
    WINDOW_STATES,
    Digest,
    ShortDigest,
    UtcDateTime,
    count,
    metadata,
    of_generation,
    one_of,
)
from airflow_provider_blockread.ledger.schema.file_tables import stretches as _stretches  # noqa: F401 - `metadata` is whole
from airflow_provider_blockread.ledger.schema.journal_tables import outputs as _outputs  # noqa: F401 - `metadata` is whole
from airflow_provider_blockread.ledger.schema.upkeep_tables import withdrawals as _withdrawals  # noqa: F401 - `metadata` is whole

#: Alembic revisions of this schema, oldest first; the last one is what this package works with.
REVISIONS = ("0001",)

# Alembic's table, with a distinct name, since another application may share the database.
version = Table(
    "blockread_version",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="blockread_version_pkc"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("uuid", String(36), primary_key=True),
    Column("created_at", UtcDateTime, nullable=False),
    Column("singleton", Integer, nullable=False, unique=True),
    Column("secret", String(64)),  # seals what this ledger's windows keep in the work area
    CheckConstraint("singleton = 1", name="singleton"),
)

feeds = Table(
    "feeds",
    metadata,
    Column("id", ID, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", UtcDateTime, nullable=False),
    sqlite_autoincrement=True,
)

# The DAGs whose runs planned or read windows of a feed: each page asks for them, and a feed may have a million windows.
feed_dags = Table(
    "feed_dags",
    metadata,
    Column("feed_id", ForeignKey("feeds.id"), primary_key=True),
    Column("dag", Text, primary_key=True),
)

windows = Table(
    "windows",
    metadata,
    Column("id", WINDOW, primary_key=True),
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("key", Text, nullable=False),
    Column("sequence", BigInteger, nullable=False),  # the order in which the feed's windows were planned, from 1
    Column("state", String(16), nullable=False),
    Column("epoch", BigInteger, nullable=False),  # of planning
    Column("owner", Text, nullable=False),
    Column("heartbeat_at", UtcDateTime, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("manifest_uri", Text, nullable=False, server_default=""),
    Column("manifest_hash", String(128), nullable=False, server_default=""),
    count("files"),
    count("blocks"),
    count("groups"),
    count("bytes"),
    Column("readers", Integer),  # tasks that may read it at once, in all groups together; empty for no limit
    Column("scan_epoch", BigInteger, nullable=False, server_default="0"),  # of the newest try to scan it
    Column("scanned_at", UtcDateTime),  # when that try had found the states
    Column("interval_start_ns", BigInteger),  # the times of the files it was planned for, half-open; empty for all
    Column("interval_end_ns", BigInteger),
    Column("pruned_at", UtcDateTime),  # since when its details are dropped; see `retention`
    Column("swept_at", UtcDateTime),  # when its work area was last searched for what attempts left
    Column("run", Text),  # the Airflow run that planned it: dag_id/run_id
    UniqueConstraint("feed_id", "key"),
    UniqueConstraint("feed_id", "sequence"),
    one_of("state", WINDOW_STATES),
    CheckConstraint("state <> 'open' OR manifest_uri <> ''", name="open_has_manifest"),
)
Index("ix_windows_run", windows.c.run)
Index("ix_windows_feed_id_created_at", windows.c.feed_id, windows.c.created_at)


def _where(condition: ColumnElement[bool]) -> dict[str, Any]:
    """Return the arguments of an index over the rows that meet a condition."""
    return {"sqlite_where": condition, "postgresql_where": condition}


# SQLite uses a partial index only if the statement has the condition literally, and not as a bound parameter.
IS_PLANNING: ColumnElement[bool] = literal_column("state = 'planning'")
Index("ix_windows_planning", windows.c.id, **_where(IS_PLANNING))

# Columns are in an order for which PostgreSQL needs no padding, since there are a million rows and more.
files = Table(
    "files",
    metadata,
    Column("id", ID, primary_key=True),
    Column("size", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    # The time used for selection: from the path, or else `mtime_ns`. Kept up to date while the file waits.
    Column("time_ns", BigInteger, nullable=False, server_default="0"),
    Column("version_digest", ShortDigest, nullable=False),
    Column("records", BigInteger),  # of the published generation, with the bad ones
    Column("bad_records", BigInteger),  # of the published generation; empty for none
    # For a large file that spans windows: the end of the newest part that a window holds; see `parts`.
    Column("part_next_offset", BigInteger),
    Column("feed_id", Integer, ForeignKey("feeds.id"), nullable=False),
    Column("first_listing", Integer, nullable=False),
    # The newest listing that had begun when the file was last seen; kept up to date while it is pending.
    Column("last_listing", Integer, nullable=False),
    Column("path_digest", Digest, nullable=False),
    Column("state", String(16), nullable=False),
    Column("window_id", ForeignKey("windows.id")),
    Column("path", PATH, nullable=False),
    Column("etag", Text),
    # Digests first: without statistics, PostgreSQL would scan all files of the feed for a few of them.
    UniqueConstraint("path_digest", "version_digest", "feed_id"),
    one_of("state", FILE_STATES),
    CheckConstraint("state <> 'planned' OR window_id IS NOT NULL", name="planned_has_window"),
    CheckConstraint("state <> 'pending' OR window_id IS NULL", name="pending_has_no_window"),
    CheckConstraint("size >= 0", name="size"),
    sqlite_autoincrement=True,
)

IS_PENDING: ColumnElement[bool] = literal_column("state = 'pending'")
IS_HELD: ColumnElement[bool] = literal_column("window_id IS NOT NULL")
#: Files that a listing must check one by one although it knows them: if they are seen again, their state changes.
IS_UNSETTLED: ColumnElement[bool] = literal_column("state IN ('missing', 'changed', 'ignored')")
Index("ix_files_pending", files.c.feed_id, files.c.time_ns, files.c.path, files.c.id, **_where(IS_PENDING))
Index("ix_files_unsettled", files.c.feed_id, files.c.id, files.c.state, **_where(IS_UNSETTLED))
# It leaves out waiting files, of which a listing may add a million. With the number, a page of a window's files reads
# only these.
Index("ix_files_window_id_id", files.c.window_id, files.c.id, **_where(IS_HELD))

exclusions = Table(
    "exclusions",
    metadata,
    Column("window_id", ForeignKey("windows.id"), primary_key=True),
    # No foreign key: the manifest names it forever, the row may go.
    Column("file_id", BigInteger, primary_key=True, autoincrement=False),
    Column("path", PATH, nullable=False),
    Column("reason", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("excluded_at", UtcDateTime, nullable=False),
    Column("generation", Integer),  # the only one that leaves it out, until it replaces another
)

generations = Table(
    "generations",
    metadata,
    Column("window_id", ForeignKey("windows.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),  # from 1
    Column("state", String(16), nullable=False),
    Column("mode", String(16), nullable=False),
    Column("options", JSON, nullable=False),
    Column("options_digest", DIGEST, nullable=False),
    Column("clear_number", Integer, nullable=False),
    Column("publish_epoch", BigInteger, nullable=False, server_default="0"),
    Column("publish_owner", Text),
    Column("publish_heartbeat_at", UtcDateTime),
    Column("table_version", Text),  # made by its commit, if the sink is a table
    Column("schema_changes", Text),  # made to that table by its commit, in words
    count("records"),
    count("bad_records"),
    count("skipped_records"),
    count("rows"),
    count("bytes"),
    Column("digest", Text),
    Column("error", Text),
    Column("created_at", UtcDateTime, nullable=False),
    Column("proven_at", UtcDateTime),
    Column("published_at", UtcDateTime),
    Column("announced_at", UtcDateTime),  # when a task of Airflow told the output's readers
    Column("run", Text),  # the Airflow run that requested it: dag_id/run_id
    Column("manifest_uri", Text),  # of its own plan, which names newer versions; empty for the window's
    Column("manifest_hash", String(128)),
    Column("given_up_by", Text),  # by whom, before it was finished
    one_of("state", GENERATION_STATES),
    one_of("mode", GENERATION_MODES),
    CheckConstraint("mode = 'write' OR state NOT IN ('publishing', 'published')", name="verify_writes_nothing"),
    CheckConstraint("mode = 'verify' OR state <> 'verified'", name="write_is_published"),
)
Index("ix_generations_run", generations.c.run)

IS_PUBLISHED: ColumnElement[bool] = literal_column("state = 'published'")
#: Generations that are being worked on, failed or wait; a window has at most one.
IS_UNFINISHED: ColumnElement[bool] = literal_column("state IN ('reading', 'proven', 'publishing', 'failed')")
for _name, _rows in (("uq_generations_published", IS_PUBLISHED), ("uq_generations_unfinished", IS_UNFINISHED)):
    Index(_name, generations.c.window_id, unique=True, **_where(_rows))

# The sums of a feed's last days, without the wide rows of generations.
_SUMS = (generations.c[name] for name in ("published_at", "window_id", "records", "bytes", "bad_records"))
Index("ix_generations_published_at", *_SUMS, **_where(IS_PUBLISHED))

groups = Table(
    "groups",
    metadata,
    *of_generation(),
    Column("number", Integer, primary_key=True, autoincrement=False),  # from 0, as in the manifest
    Column("state", String(16), nullable=False),
    Column("epoch", BigInteger, nullable=False, server_default="0"),
    Column("owner", Text),
    Column("heartbeat_at", UtcDateTime),
    Column("clear_number", Integer, nullable=False),  # of the claim that the state belongs to
    Column("files", BigInteger, nullable=False),
    Column("blocks", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),  # planned
    Column("first_path", PATH, nullable=False),
    Column("last_path", PATH, nullable=False),
    count("records"),
    count("bad_records"),
    count("rows"),
    count("read_bytes"),
    Column("reader_seconds", Double, nullable=False, server_default="0"),  # of the tasks that read it, summed
    Column("result_uri", Text),
    Column("result_hash", String(128)),
    Column("error", Text),
    Column("started_at", UtcDateTime),
    Column("finished_at", UtcDateTime),
    Column("stale_after_s", Double, nullable=False, server_default="120"),  # as the owner's claim says
    Column("spec_hash", String(128)),  # of the attempt's job specification, if its driver may outlive its owner
    Column("application", Text),  # its id on Spark, or on the cluster that has accepted it
    Column("holder", Integer, nullable=False, server_default="0"),  # how often a later try has adopted this epoch
    # What the newest attempt has read so far, as its driver says; only for display.
    count("blocks_done"),
    count("records_done"),
    count("bad_records_done"),
    count("bytes_done"),
    Column("progress_at", UtcDateTime),  # when these counts changed last; empty before the first ones
    Column("spark_ui", Text),  # the address of its application's live pages, as the driver says
    one_of("state", GROUP_STATES),
    CheckConstraint("state <> 'running' OR (owner IS NOT NULL AND heartbeat_at IS NOT NULL)", name="running_has_owner"),
    CheckConstraint("state <> 'done' OR result_uri IS NOT NULL", name="done_has_result"),
    CheckConstraint("blocks_done <= blocks AND bytes_done <= bytes", name="done_of_planned"),
)

file_sums = Table(
    "file_sums",
    metadata,
    *of_generation(),
    Column("file_id", BigInteger, primary_key=True, autoincrement=False),
    count("records"),
    count("bad_records"),
    count("bytes"),
    Column("next_start", BigInteger),  # as in `parts`, to which they are moved; empty if the file is read whole
    Column("exit_state", BigInteger),
    sqlite_with_rowid=False,
)
