"""The ledger's migrations: Alembic revisions that travel in the package and run on a given connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, text

from airflow_provider_blockread.ledger.schema.tables import VERSION_TABLE

if TYPE_CHECKING:
    from alembic.config import Config


def config(connection: Connection | None = None) -> Config:
    """Return Alembic's configuration; `env.py` takes the connection from it."""
    from alembic.config import Config  # noqa: PLC0415 - every task opens the ledger, hardly one migrates it

    found = Config(attributes={"connection": connection})
    found.set_main_option("script_location", "airflow_provider_blockread.ledger:migrations")
    found.set_main_option("path_separator", "os")
    return found


def run(connection: Connection) -> None:
    """Bring the schema up to the newest revision, inside the connection's transaction."""
    from alembic import command  # noqa: PLC0415 - as above

    command.upgrade(config(connection), "head")


def current(connection: Connection) -> str | None:
    """Return the schema's revision; None where there is no ledger."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    found = connection.scalar(text(f"SELECT version_num FROM {VERSION_TABLE}"))  # noqa: S608 - a constant
    return None if found is None else str(found)
