"""PostgreSQL servers whose settings differ from those of a new one."""

from __future__ import annotations

from contextlib import closing

import pytest
from sqlalchemy import select

from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.store import Ledger

on_a_server = pytest.mark.parametrize("url", [pytest.param("postgresql", marks=pytest.mark.postgres)], indirect=True)


@on_a_server
@pytest.mark.parametrize("style", ["German", "SQL", "Postgres"])
def test_times_in_a_style_that_the_driver_cannot_read(ledger: Ledger, url: str, style: str) -> None:
    """A role or database may prefer another style for people; times come back all the same."""
    made = select(tables.ledger.c.created_at)
    with closing(Ledger(f"{url}%20-cDateStyle%3D{style}")) as other, other.reading() as connection:
        found = connection.scalar(made)
    with ledger.reading() as connection:
        assert connection.scalar(made) == found
