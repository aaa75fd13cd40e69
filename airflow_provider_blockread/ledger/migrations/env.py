"""Alembic's entry: migrate the connection that `migrations.run` hands over."""

from __future__ import annotations

from alembic import context

from airflow_provider_blockread.ledger.schema.tables import version

context.configure(connection=context.config.attributes["connection"], version_table=version.name)
with context.begin_transaction():
    context.run_migrations()
