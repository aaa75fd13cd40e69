"""The tables of what people ask for afterwards: windows withdrawn, and commands that go over many windows.

Stored as `tables` says; these stand apart since no window needs them to be planned, read and published.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ColumnElement,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
    literal_column,
)

from airflow_provider_blockread.ledger.columns import (
    DIGEST,
    ID,
    REPLACING_STATES,
    WINDOW,
    WITHDRAWN_FILES,
    UtcDateTime,
    metadata,
    one_of,
)

REQUEST_ACTIONS = ("rebuild", "reprocess")

withdrawals = Table(
    "withdrawals",
    metadata,
    Column("window_id", WINDOW, ForeignKey("windows.id"), primary_key=True),
    Column("files", String(16), nullable=False),
    Column("who", Text, nullable=False),
    Column("began_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),  # none: output may still be there, and files not moved; repeat it
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

# The same command, repeated before it is finished, goes on with what it began.
_OPEN: ColumnElement[bool] = literal_column("finished_at IS NULL")
Index("uq_requests_open", requests.c.digest, unique=True, sqlite_where=_OPEN, postgresql_where=_OPEN)

request_generations = Table(
    "request_generations",
    metadata,
    Column("request_id", ForeignKey("requests.id"), primary_key=True),
    Column("window_id", WINDOW, ForeignKey("windows.id"), primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),  # that was started for the request
)

# Of generations that read newer versions of files: which, in whose place. No foreign keys to files: rows of pruned
# windows may go.
replacements = Table(
    "replacements",
    metadata,
    Column("window_id", WINDOW, primary_key=True),
    Column("generation", Integer, primary_key=True, autoincrement=False),
    Column("old_file", BigInteger, primary_key=True, autoincrement=False),
    Column("new_file", BigInteger, nullable=False),
    Column("was", String(16), nullable=False),  # the state that the newer version goes back to
    ForeignKeyConstraint(["window_id", "generation"], ["generations.window_id", "generations.number"]),
    UniqueConstraint("window_id", "generation", "new_file"),
    one_of("was", REPLACING_STATES),
)
