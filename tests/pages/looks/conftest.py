"""A feed that was read for real, its pages on a server, and Chromium."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext

from airflow_provider_blockread.pages.app import make_app
from tests.pages.browser import LOOKS, chromium, served
from tests.pages.lake import Lake, filled_lake
from tests.pages.visitors import Person, site_of


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def lake() -> Iterator[Lake]:
    """A published window and a failed one."""
    with tempfile.TemporaryDirectory(prefix="blockread-lake-") as folder, filled_lake(Path(folder)) as made:
        yield made


@pytest.fixture(scope="module")
def site(lake: Lake) -> Iterator[str]:
    """The address of the pages."""
    with served(make_app(site_of(lake.pipe.env, Person()))) as address:
        yield address


@pytest.fixture
def wide(browser: Browser) -> Iterator[BrowserContext]:
    """A window of usual size."""
    context = browser.new_context(**LOOKS["wide"])
    yield context
    context.close()
