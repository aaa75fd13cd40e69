"""The tables of what is known of files beside their rows: identities for ever, and how listings skip known files.

Stored as `tables` says.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, PrimaryKeyConstraint, String, Table

from airflow_provider_blockread.ledger.columns import TAKEN_STATES, Digest, ShortDigest, metadata, one_of

# What is left of a file whose window was pruned: enough never to take it again.
taken_files = Table(
    "taken_files",
    metadata,
    Column("version_digest", ShortDigest),
    Column("feed_id", Integer, ForeignKey("feeds.id")),
    Column("path_digest", Digest),
    Column("state", String(16), nullable=False),
    PrimaryKeyConstraint("feed_id", "path_digest", "version_digest"),
    one_of("state", TAKEN_STATES),
    sqlite_with_rowid=False,
)

# Runs of files that a listing showed one after another, all of them known; see `discovery`.
stretches = Table(
    "stretches",
    metadata,
    Column("feed_id", Integer, ForeignKey("feeds.id"), primary_key=True, autoincrement=False),
    Column("digest", Digest, primary_key=True),
    Column("scan_id", Integer, nullable=False),  # of the scan that found all its files known
    sqlite_with_rowid=False,
)
