"""Alembic's entry point: migrates the connection that `migrations.run` passes."""

from __future__ import annotations

from alembic import context

from airflow_provider_blockread.ledger.schema.tables import version

context.configure(connection=context.config.attributes["connection"], version_table=version.name)
with context.begin_transaction():
    context.run_migrations()
