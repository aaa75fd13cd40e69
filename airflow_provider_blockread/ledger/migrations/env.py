"""Alembic's entry: migrate the connection that `migrations.run` hands over."""

from __future__ import annotations

from alembic import context

from airflow_provider_blockread.ledger.schema.columns import metadata
from airflow_provider_blockread.ledger.schema.tables import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
