"""The pages over a ledger, on SQLite and on a real PostgreSQL, asked in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.storage.stores import Stores
from tests.ledger.fixtures import clock, ledger, url
from tests.pages.visitors import Person, site_of

__all__ = ["clock", "ledger", "url"]


@pytest.fixture
def env(ledger: Ledger) -> Environment:
    """The ledger and the stores that the pages show."""
    return Environment(ledger=ledger, stores=Stores(), observer=Observer())


@pytest.fixture
def client(env: Environment) -> Iterator[TestClient]:
    """A browser of a person who may do everything."""
    with TestClient(make_app(site_of(env, Person())), raise_server_exceptions=True) as made:
        yield made
