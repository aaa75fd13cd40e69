"""The tables of what is known about files besides their rows: identities, listings, stretches, parts.

Stored as `tables` says.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
)

from airflow_provider_blockread.ledger.schema.columns import (
    ID,
    TAKEN_STATES,
    WINDOW,
    Digest,
    ShortDigest,
    UtcDateTime,
    count,
    metadata,
    one_of,
)

# What is left of a file whose window was pruned: enough never to take it again.
taken_files = Table(
    "taken_files",
    metadata,
    Column("version_digest", ShortDigest),
    Column("feed_id", Integer, ForeignKey("feeds.id")),
    Column("path_digest", Digest),
    Column("state", String(16), nullable=False),
    PrimaryKeyConstraint("path_digest", "version_digest", "feed_id"),
    one_of("state", TAKEN_STATES),
    sqlite_with_rowid=False,
)

# Runs of files that a listing showed one after another, all of them known; see `ledger.files.stretches`.
stretches = Table(
    "stretches",
    metadata,
    Column("feed_id", Integer, ForeignKey("feeds.id"), autoincrement=False),
    Column("digest", Digest),
    Column("listing_id", Integer, nullable=False),  # of the listing that found all its files known
    PrimaryKeyConstraint("digest", "feed_id"),
    sqlite_with_rowid=False,
)

# The range that each window reads of a file that several windows read; a file that one window reads has no row.
parts = Table(
    "parts",
    metadata,
    Column("window_id", WINDOW, ForeignKey("windows.id"), primary_key=True),
    # No foreign key: the manifest names it forever, but its row may be deleted.
    Column("file_id", BigInteger, primary_key=True, autoincrement=False),
    Column("part_start", BigInteger, nullable=False),
    Column("part_end", BigInteger, nullable=False),
    # What the published generation found, moved here when all steps of its journal are done, and it cannot turn back.
    Column("next_start", BigInteger),
    Column("exit_state", BigInteger),
    Column("records", BigInteger),
    Column("bad_records", BigInteger),
    UniqueConstraint("file_id", "part_start"),
    CheckConstraint("part_start < part_end", name="range"),
)

listings = Table(
    "listings",
    metadata,
    Column("id", ID, primary_key=True),
    Column("feed_id", ForeignKey("feeds.id"), nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    count("seen"),
    count("new"),
    count("modified"),
    count("ignored"),
    Column("source", JSON(none_as_null=True)),  # the options of what was listed; empty if not known
    sqlite_autoincrement=True,
)
Index("ix_listings_feed_id_id", listings.c.feed_id, listings.c.id)
