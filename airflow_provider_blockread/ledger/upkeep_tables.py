"""The tables of what people ask for afterwards: windows withdrawn, and commands that go over many windows.

Stored as `tables` says; these stand apart since no window needs them to be planned, read and published.
"""

from __future__ import annotations

from sqlalchemy import JSON, Column, ColumnElement, ForeignKey, Index, Integer, String, Table, Text, literal_column

from airflow_provider_blockread.ledger.columns import DIGEST, ID, WINDOW, WITHDRAWN_FILES, UtcDateTime, metadata, one_of

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
