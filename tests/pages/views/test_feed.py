"""The page of one feed: what its links keep of what was asked for."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qsl

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.groups import complete_group
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, claim, close_empty_window, open_window, outcome, publish, ref, version

HERE = "/ledgers/main/feeds/1"


def _links(client: TestClient, query: str) -> dict[str, dict[str, str]]:
    """Return the parameters of the page's links to itself, by their texts."""
    text = client.get(f"{HERE}?{query}").text
    found = re.findall(rf'<a href="{HERE}\?([^"]*)"[^>]*>([^<]*)</a>', text)
    return {words: dict(parse_qsl(html.unescape(given))) for given, words in found}


@pytest.fixture
def windows(env: Environment) -> None:
    """More windows than the list has rows, and more files that wait."""
    for number in range(52):
        close_empty_window(env.ledger, FEED, f"k{number}", owner="me")
    record_files(env.ledger, FEED, [version(f"f{number}") for number in range(52)], complete=False)


def test_what_is_read_again_has_no_speed_before_it_is_read(client: TestClient, env: Environment, clock: Clock) -> None:
    """The list and the chart show none of the half of a rebuild, beside the numbers of what is published."""
    publish(env.ledger, window := open_window(env.ledger))
    start_generation(env.ledger, window.id, options={}, mode="write", clear_number=0)
    half = claim(env.ledger, group := ref(window, generation=2))
    clock.pass_seconds(10)
    complete_group(env.ledger, half, outcome(group))
    text = client.get(f"{HERE}?measure=speed").text

    assert "10 s</td>" not in text
    assert "5 B/s" not in text


@pytest.mark.usefixtures("windows")
def test_a_measure_is_chosen_for_what_is_shown(client: TestClient) -> None:
    """The tab, its filters and its place stay; a filter, another tab and further pages keep the measure."""
    filters = {"state": "empty", "text": "k"}
    filtered = _links(client, "measure=lag&state=empty&text=k")
    waiting = _links(client, "measure=lag&show=waiting")
    form = client.get(f"{HERE}?measure=lag").text

    assert filtered["bad records"] == filters | {"measure": "bad"}
    assert waiting["bad records"] == {"show": "waiting", "measure": "bad"}
    assert filtered["Late files"] == {"measure": "lag", "show": "late"}
    assert filtered["Older windows"].items() >= (filters | {"measure": "lag"}).items()
    assert waiting["More files"].items() >= {"measure": "lag", "show": "waiting"}.items()
    assert '<input type="hidden" name="measure" value="lag">' in form
    assert _links(client, "")["Late files"] == {"show": "late"}
