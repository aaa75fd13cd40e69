"""What tests of several tables share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tests.postgres import own_postgres


@pytest.fixture
def sql() -> Iterator[psycopg.Connection[Any]]:
    """A session of somebody else with the tests' PostgreSQL database."""
    with psycopg.connect(own_postgres(), autocommit=True) as connection:
        yield connection
