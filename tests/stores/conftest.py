"""Stores on loopback, each started on first use, and stopped with the tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers import all as servers
from tests.servers.azure import azurites
from tests.servers.store import Store

HERE = Path(__file__).parent
KINDS = ("ceph", "moto", "azurite", "gcs", "sftp")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Ignore warnings of the stores' own clients; those caused by this package stay errors."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("ignore", "error:::airflow_provider_blockread"))


@pytest.fixture(scope="session")
def ceph() -> Iterator[Store]:
    """A Ceph gateway: S3."""
    with servers.ceph() as store:
        yield store


@pytest.fixture(scope="session")
def moto() -> Iterator[Store]:
    """Moto: S3."""
    with servers.moto() as store:
        yield store


@pytest.fixture(scope="session")
def azurite() -> Iterator[Store]:
    """Azurite: Azure Blob."""
    with azurites(1) as (store,):
        yield store


@pytest.fixture(scope="session")
def gcs() -> Iterator[Store]:
    """An emulator of Google Cloud Storage."""
    with servers.gcs() as store:
        yield store


@pytest.fixture(scope="session")
def sftp() -> Iterator[Store]:
    """An SSH server."""
    logging.getLogger("asyncssh").setLevel(logging.WARNING)  # it logs at exit, when pytest has closed the stream
    with servers.sftp() as store:
        yield store


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest) -> Store:
    """Each store in turn."""
    found: Store = request.getfixturevalue(request.param)
    return found
