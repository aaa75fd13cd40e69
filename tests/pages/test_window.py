"""The page of one window: the actions that fit its state, and what its generations changed."""

from __future__ import annotations

import re

from sqlalchemy import update
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.schema.journal_tables import outputs
from airflow_provider_blockread.ledger.schema.tables import generations, windows
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.groups import fail_group
from airflow_provider_blockread.ledger.windows.scans import begin_scan, end_scan
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.make import FEED, claim, close_empty_window, open_window, publish, ref
from tests.pages.visitors import Person, site_of


def _offered(client: TestClient, window: Window) -> set[str]:
    text = client.get(f"/ledgers/main/windows/{window.id}").text
    return set(re.findall(rf"{window.id}/actions/(\w+)", text))


def test_a_window_offers_what_its_state_allows(client: TestClient, env: Environment) -> None:
    """Nothing can be rebuilt, verified or removed before it is published; nothing that is, is given up or left out."""
    window = open_window(env.ledger)
    planned = _offered(client, window)
    fail_group(env.ledger, claim(env.ledger, ref(window)), "broke")
    failed = _offered(client, window)
    start_generation(env.ledger, window.id, options={}, mode="write", clear_number=1)
    publish(env.ledger, window, 2)
    published = _offered(client, window)
    start_generation(env.ledger, window.id, options={}, mode="write", clear_number=2)

    assert planned == failed == {"reprocess", "exclude", "abandon"}
    assert published == {"rebuild", "reprocess", "verify", "undo"}
    assert _offered(client, window) == planned | published


def test_a_window_says_why_each_of_its_groups_failed(client: TestClient, env: Environment) -> None:
    """Whoever mends only what is said first waits for the next failure; others see that there is more."""
    window = open_window(env.ledger)
    for group, why in enumerate(("broke at once", "was denied; ask for access")):
        fail_group(env.ledger, claim(env.ledger, ref(window, group=group)), why)
    page = f"/ledgers/main/windows/{window.id}"
    text, alone = client.get(page).text, TestClient(make_app(site_of(env, Person(reads=set())))).get(page).text

    assert [text.count(why) for why in ("broke at once", "was denied", "ask for access")] == [1, 1, 0]
    assert [">1 other group failed, too<" in one for one in (text, alone)] == [True, True]
    assert "was denied" not in alone


def test_one_block_is_one_block(client: TestClient, env: Environment) -> None:
    """As it is one group, and one file."""
    window = open_window(env.ledger)
    with env.ledger.writing() as connection:
        connection.execute(update(windows).values(blocks=1))

    assert "<small>1 block<" in client.get(f"/ledgers/main/windows/{window.id}").text


def test_a_page_asks_again_until_nothing_moves(client: TestClient, env: Environment) -> None:
    """Also while the window waits for the next task; each new state, and the end of a scan, shows the page anew."""
    window, seen = open_window(env.ledger), []

    def look() -> None:
        page = f"/ledgers/main/windows/{window.id}"
        live, text = client.get(f"{page}/live").json(), client.get(page).text
        seen.append((live["moving"], live["state"]))
        assert f'data-moving="{str(live["moving"]).lower()}" data-state="{live["state"]}"' in text

    look()
    epoch = begin_scan(env.ledger, window.id)
    look()
    end_scan(env.ledger, window.id, epoch)
    look()
    claimed = claim(env.ledger, ref(window))
    look()
    fail_group(env.ledger, claimed, "broke")
    look()
    publish(env.ledger, window)
    look()

    assert seen == [
        *((True, "waiting"), (True, "scanning"), (True, "waiting"), (True, "reading")),
        *((False, "failed"), (False, "published")),
    ]


def test_a_window_with_nothing_to_read_offers_nothing(client: TestClient, env: Environment) -> None:
    """There is nothing to do about it, and it says so."""
    window = close_empty_window(env.ledger, FEED, "k", owner="me")

    assert _offered(client, window) == set()
    assert "Nothing new: its plan found no file" in client.get(f"/ledgers/main/windows/{window.id}").text


def test_a_generation_says_what_it_made_of_a_table(client: TestClient, env: Environment) -> None:
    """Its version, the changes of its schema, and the partition of each output file; nothing where there is none."""
    window = open_window(env.ledger)
    publish(env.ledger, window)
    plain = client.get(f"/ledgers/main/windows/{window.id}").text
    made = {"table_version": "41", "schema_changes": "added column <b>note</b> string"}
    with env.ledger.writing() as connection:
        connection.execute(update(generations).values(made))
        connection.execute(
            update(outputs).where(outputs.c.seq == 0).values(partition={"day": "2026-11-22", "to": "<i>"})
        )
    text = client.get(f"/ledgers/main/windows/{window.id}").text

    assert "table version" not in plain
    assert "day = " not in plain
    assert "table version 41" in text
    assert "added column &lt;b&gt;note&lt;/b&gt; string" in text
    assert text.count("day = 2026-11-22, to = &lt;i&gt;") == 1
