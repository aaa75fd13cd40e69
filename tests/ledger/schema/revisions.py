"""Schemas as released, and one revision more: `python -m tests.ledger.schema.revisions` writes the newest schema."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from alembic.config import Config
from sqlalchemy import Connection, create_mock_engine

from airflow_provider_blockread.ledger import migrations
from airflow_provider_blockread.ledger.schema import tables

RELEASED = Path(__file__).parent / "released"
DATABASES = {"sqlite": "sqlite://", "postgresql": "postgresql+psycopg://"}
NEXT = "9999"
_SCRATCH = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{tables.REVISIONS[-1]}"


def upgrade():
    op.add_column("files", sa.Column("scratch", sa.Text(), nullable=False, server_default="as before"))
"""


def kept(revision: str, database: str) -> Path:
    """Return where the statements are that make a ledger of this revision."""
    return RELEASED / f"{revision}.{database}.sql"


def newest(database: str) -> str:
    """Return the statements that make a ledger now."""
    found: list[str] = []

    def note(statement: Any, *_: object) -> None:
        found.append(str(statement.compile(dialect=engine.dialect, compile_kwargs={"literal_binds": True})).strip())

    engine: Any = create_mock_engine(DATABASES[database], note)
    migrations.run(engine, None)
    found.sort(key=lambda statement: statement if " INDEX " in statement else "")  # SQLAlchemy keeps them in a set
    tables_first = sorted(found, key=lambda statement: not statement.startswith("CREATE TABLE"))
    return "".join(f"{statement};\n\n" for statement in tables_first)


def make(connection: Connection, revision: str) -> None:
    """Create a ledger of a released revision, without an identity."""
    for statement in kept(revision, connection.dialect.name).read_text("utf-8").split(";\n\n"):
        if statement:
            connection.exec_driver_sql(statement)


@contextmanager
def one_more_revision() -> Iterator[None]:
    """Let this package know one revision more, `NEXT`, which adds a column to the files."""
    known = migrations.config

    def config(connection: Connection | None = None) -> Config:
        found = known(connection)
        folders = (Path(migrations.__file__).with_name("versions"), folder)
        found.set_main_option("version_locations", os.pathsep.join(map(str, folders)))
        return found

    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as package:
        Path(folder, "scratch.py").write_text(_SCRATCH, "utf-8")
        package.setattr(migrations, "config", config)
        package.setattr(tables, "REVISIONS", (*tables.REVISIONS, NEXT))
        yield


if __name__ == "__main__":
    for name in DATABASES:
        kept(tables.REVISIONS[-1], name).write_text(newest(name), "utf-8")
