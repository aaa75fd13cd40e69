"""Who may do what with the pages in Airflow: everybody asks each route for feeds of one DAG, of two, and of none."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from airflow import settings
from sqlalchemy import event
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.pages.routes import ROUTES, Needs, PageRoute
from tests.airflow.pages.asking import FEEDS, MAY, address, status
from tests.ledger.make import freeze_window, plan

pytestmark = pytest.mark.airflow

Browser = Callable[..., TestClient]

#: Names and roles; what a name says beside the role is in `managers`.
PEOPLE = {
    "nobody": ("", ""),
    "viewer": ("vera", "VIEWER"),
    "user": ("ulf", "USER"),
    "user of alpha": ("al-only-alpha", "USER"),
    "user of beta": ("carl-only-beta", "USER"),
    "user without logs": ("nell-nologs", "USER"),
    "administrator": ("ann", "ADMIN"),
}
KNOWN = set(PEOPLE) - {"nobody"}


@pytest.mark.parametrize("page", ROUTES, ids=lambda page: f"{page.method} {page.path}")
@pytest.mark.parametrize("feed", FEEDS)
def test_a_route_opens_for_those_who_may(page: PageRoute, feed: str, browser: Browser, ledger: Ledger) -> None:
    """Nobody is asked to sign in (401), those who may not are refused (403), and no one else is."""
    path = address(page, feed, ledger)
    statuses = {person: status(browser(*who), page, path) for person, who in PEOPLE.items()}
    may = KNOWN if page.needs is Needs.SIGNED_IN else MAY[page.needs, feed]

    assert statuses.pop("nobody") == 401
    assert {person for person, status in statuses.items() if status not in {401, 403}} == may
    assert {status for person, status in statuses.items() if person not in may} <= {403}


def test_rights_on_many_feeds_are_one_question(browser: Browser, ledger: Ledger) -> None:
    """Airflow's database is asked for the teams of all DAGs at once, however many feeds there are."""
    for number in range(5):
        planned = replace(plan(f"k{number}", files=0, feed=f"more {number}"), run=f"dag{number}/manual__1")
        freeze_window(ledger, planned, [])
    client, asked = browser(*PEOPLE["administrator"]), []

    def listen(_connection: object, _cursor: object, statement: str, *_others: object) -> None:
        asked.append(statement)

    event.listen(settings.engine, "before_cursor_execute", listen)
    try:
        text = client.get("/blockread/").text
    finally:
        event.remove(settings.engine, "before_cursor_execute", listen)

    assert "more 4" in text
    assert sum("team" in statement and "dag_bundle" in statement for statement in asked) == 1


def test_no_other_route_is_mounted(browser: Browser) -> None:
    """What the pages do not list is not there, not even for an administrator; style sheets are open to all."""
    admin = browser(*PEOPLE["administrator"])
    others = ("/docs", "/openapi.json", "/redoc", "/ledgers/blockread_default", "/static/../routes.py")

    assert {admin.get(f"/blockread{path}").status_code for path in others} == {404}
    assert browser().get("/blockread/static/pages.css").status_code == 200


def test_a_token_of_nobody_is_refused(browser: Browser) -> None:
    """A cookie that Airflow did not make opens nothing; the page links to Airflow's login, which leads back to it."""
    client = browser()
    client.cookies.set("_token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJyb2xlIjoiQURNSU4ifQ.")

    refused = client.get("/blockread/search?q=a")
    [login] = re.findall('href="([^"]*/auth/login[^"]*)"', refused.text)
    answer = client.get(login)

    assert refused.status_code == 401
    assert answer.status_code == 307
    assert answer.headers["location"].endswith("/auth/login?next=%2Fblockread%2Fsearch%3Fq%3Da")


def test_lists_hold_only_what_a_user_may_see(browser: Browser) -> None:
    """The list of feeds leaves out those of DAGs that the user may not read, and those of no DAG."""
    seen = {person: browser(*PEOPLE[person]).get("/blockread/").text for person in ("user of alpha", "administrator")}

    assert "by hand" not in seen["user of alpha"]
