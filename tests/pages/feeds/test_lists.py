"""The lists of a feed's page: going on from the last entry of each part shows every entry once."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.options import nanoseconds
from airflow_provider_blockread.pages.display.words import whole
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.make import FEED, close_empty_window, version

TODAY = nanoseconds(datetime(2026, 11, 27, 12, tzinfo=UTC))


@pytest.mark.parametrize("tab", ["waiting", "late"])
def test_files_that_wait_are_listed_to_the_last_one(client: TestClient, env: Environment, tab: str) -> None:
    """Also where their times are those of today, in nanoseconds since 1970."""
    close_empty_window(env.ledger, FEED, "hour", owner="me", interval_ns=(TODAY, TODAY + 3600 * 10**9))
    found = [version(f"f{n:03}", mtime_ns=TODAY + n // 40) for n in range(120)]
    record_files(env.ledger, FEED, found, complete=False)
    page, listed = f"/ledgers/main/feeds/1?show={tab}", []
    while page and len(listed) < 1000:
        text = client.get(page).text
        listed += re.findall(r'title="file:///in/(f\d+)"', text)
        more = re.search(r'href="([^"]*)">More files', text)
        page = html.unescape(more[1]) if more else ""

    assert listed == [f"f{n:03}" for n in range(120)]


def test_a_number_of_an_address_is_one_that_a_database_holds() -> None:
    """Of 64 bits with a sign; others, and what is no number, are none."""
    least, most = -(2**63) + 1, 2**63 - 1

    assert [whole(str(number)) for number in (least, -5, 0, TODAY, most)] == [least, -5, 0, TODAY, most]
    assert [whole(text) for text in (str(most + 1), "9" * 40, "", "-", "--1", "1.5", "x", "\u0661")] == [None] * 8
