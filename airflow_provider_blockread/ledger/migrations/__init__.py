"""Creates a ledger's schema, and upgrades the schema of an earlier version of this package.

A new ledger is created from `tables` and `views`. An older one runs the Alembic revisions that it lacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import Connection, inspect, select

from airflow_provider_blockread.ledger.schema import tables, views
from airflow_provider_blockread.ledger.schema.columns import metadata

if TYPE_CHECKING:
    from alembic.config import Config


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """The revision of a schema before (None if there was no ledger) and after an upgrade."""

    before: str | None
    after: str

    def __str__(self) -> str:
        if self.before is None:
            return f"created at revision {self.after}"
        if self.before == self.after:
            return f"at revision {self.after} already"
        return f"upgraded from revision {self.before} to {self.after}"


def config(connection: Connection | None = None) -> Config:
    """Return Alembic's configuration; `env.py` takes the connection from it."""
    from alembic.config import Config  # noqa: PLC0415 - every task opens the ledger, but hardly any migrates it

    found = Config(attributes={"connection": connection})
    found.set_main_option("script_location", "airflow_provider_blockread.ledger:migrations")
    found.set_main_option("path_separator", "os")
    return found


def run(connection: Connection, revision: str | None) -> None:
    """Bring the schema to the newest revision, inside the connection's transaction.

    Args:
        connection: the connection to the ledger.
        revision: the schema's revision, or None if there is no ledger.
    """
    newest = tables.REVISIONS[-1]
    if revision == newest:
        return
    if revision is None:
        metadata.create_all(connection, checkfirst=False)
        connection.execute(tables.version.insert().values(version_num=newest))
    else:
        from alembic import command  # noqa: PLC0415 - as above

        views.drop(connection)
        command.upgrade(config(connection), newest)
    views.create(connection)


def current(connection: Connection) -> str | None:
    """Return the schema's revision, or None if there is no ledger."""
    if not inspect(connection).has_table(tables.version.name):
        return None
    return connection.scalar(select(tables.version.c.version_num))
