"""The tables of the journal: what generations publish, and the steps to publish it. Stored as `tables` says."""

from __future__ import annotations

from sqlalchemy import JSON, BigInteger, Column, Integer, String, Table, Text

from airflow_provider_blockread.ledger.schema.columns import metadata, of_generation, one_of

outputs = Table(
    "outputs",
    metadata,
    *of_generation(),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("uri", Text, nullable=False),  # where it is published
    Column("source", Text, nullable=False),  # where its task wrote it
    Column("size", BigInteger, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("partition", JSON, nullable=False),
    Column("statistics", JSON, nullable=False),
    one_of("kind", ("output", "quarantine")),
)

# The steps that publish the outputs.
publications = Table(
    "publications",
    metadata,
    *of_generation(),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("action", String(16), nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("state", String(16), nullable=False),
    one_of("kind", ("output", "quarantine", "log", "commit")),
    one_of("action", ("add", "remove")),
    one_of("state", ("planned", "done")),
)
