"""The tables of upkeep: withdrawn windows, commands over many windows, cleaned files.

Stored as `tables` says; they are separate because windows are planned, read and published without them.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

from airflow_provider_blockread.ledger.schema.columns import (
    CLEANING_STATES,
    DIGEST,
    ID,
    PATH,
    REPLACING_STATES,
    WINDOW,
    ShortDigest,
    UtcDateTime,
    metadata,
    of_generation,
    one_of,
)
from airflow_provider_blockread.options.upkeep import CLEANING_ACTIONS, WITHDRAWN_FILES

REQUEST_ACTIONS = ("rebuild", "reprocess", "verify")

withdrawals = Table(
    "withdrawals",
    metadata,
    Column("window_id", WINDOW, ForeignKey("windows.id"), primary_key=True),
    Column("files", String(16), nullable=False),
    Column("who", Text, nullable=False),
    Column("began_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),  # empty: output may still be there, and files not moved; repeat it
    one_of("files", WITHDRAWN_FILES),
)

requests = Table(
    "requests",
    metadata,
    Column("id", ID, primary_key=True),
    Column("action", String(16), nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("digest", DIGEST, nullable=False),  # of action and arguments
    Column("who", Text, nullable=False),
    Column("began_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    one_of("action", REQUEST_ACTIONS),
    sqlite_autoincrement=True,
)

# The same command, repeated before it is finished, continues with what it began.
_OPEN: ColumnElement[bool] = literal_column("finished_at IS NULL")
Index("uq_requests_open", requests.c.digest, unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN)

request_generations = Table(
    "request_generations",
    metadata,
    Column("request_id", ForeignKey("requests.id"), primary_key=True),
    Column("window_id", WINDOW, ForeignKey("windows.id"), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),  # started for the request
)

# Which newer versions of files a generation reads, in place of which files. No foreign keys to files: rows of pruned
# windows may be deleted.
replacements = Table(
    "replacements",
    metadata,
    *of_generation(),
    Column("old_file", BigInteger, primary_key=True, autoincrement=False),
    Column("new_file", BigInteger, nullable=False),
    Column("was", String(16), nullable=False),  # the state that the newer version goes back to
    UniqueConstraint("window_id", "generation", "new_file"),
    one_of("was", REPLACING_STATES),
)

# What is done to files at the source after they were published, recorded before it is done. No foreign keys to files:
# rows of pruned windows may be deleted.
cleanings = Table(
    "cleanings",
    metadata,
    Column("file_id", BigInteger, primary_key=True, autoincrement=False),
    Column("version_digest", ShortDigest, nullable=False),
    Column("window_id", WINDOW, ForeignKey("windows.id"), nullable=False),  # of the last part, for a file in parts
    Column("action", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("path", PATH, nullable=False),
    Column("target", Text),  # of `archive`: where to
    Column("who", Text, nullable=False),
    Column("began_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    one_of("action", CLEANING_ACTIONS),
    one_of("state", CLEANING_STATES),
    CheckConstraint("action <> 'archive' OR target IS NOT NULL", name="archive_has_target"),
    CheckConstraint("state = 'planned' OR finished_at IS NOT NULL", name="finished"),
)
Index("ix_cleanings_window_id", cleanings.c.window_id)
IS_BEGUN: ColumnElement[bool] = literal_column("state = 'planned'")  # of which a page looks for a few among millions
Index("ix_cleanings_begun", cleanings.c.window_id, sqlite_where=IS_BEGUN, postgresql_where=IS_BEGUN)
