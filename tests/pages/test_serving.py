"""`blockread ui`: the pages on loopback, without Airflow, for the person who started them."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
import urllib.request
from copy import copy
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.errors import LedgerUnavailableError
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.serving import loopback_app
from airflow_provider_blockread.pages.site import Site
from airflow_provider_blockread.pages.visit import Ledgers
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.storage.stores import Stores
from tests.ledger.make import FEED, close_empty_window, open_window
from tests.ledgers import open_ledger
from tests.pages.visitors import Person


def test_the_command_serves_until_it_is_stopped(tmp_path: Path) -> None:
    """It says where, answers there, and ends cleanly."""
    url = f"sqlite:///{tmp_path / 'ledger.db'}"
    open_ledger(url).close()
    call = [sys.executable, "-c", "from airflow_provider_blockread.cli import main; main()", "ui", "--port", "0"]
    started = subprocess.Popen([*call, "--state", url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert started.stdout
        address = started.stdout.readline().split(" on ")[1].split(" ")[0]
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address, timeout=30) as answer:
            page = answer.read().decode()
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=30)
    finally:
        started.kill()
        started.communicate()

    assert "No feed is known to this ledger" in page
    assert "Traceback" not in errors


def test_another_user_of_the_host_reads_nothing(env: Environment) -> None:
    """Whoever does not know the key that was printed has no page, nor an action; a cookie keeps it."""
    window = open_window(env.ledger)
    pages = ("/", "/?key=", "/?key=\u00e9", f"/ledgers/ledger/windows/{window.id}", "/static/pages.css")
    with TestClient(loopback_app(env, "secret"), base_url="http://127.0.0.1:8793") as client:
        assert {client.get(page).status_code for page in pages} == {403}
        assert client.post(f"/ledgers/ledger/windows/{window.id}/actions/abandon").status_code == 403
        assert client.get("/", headers={"cookie": "blockread-8793=other"}).status_code == 403
        assert "secret" not in str(client.get("/?key=secret").url)
        assert client.get(f"/ledgers/ledger/windows/{window.id}").status_code == 200


def test_another_name_for_loopback_is_refused(env: Environment) -> None:
    """A page elsewhere whose name leads to 127.0.0.1 reads nothing."""
    with TestClient(loopback_app(env, "secret"), base_url="http://127.0.0.1") as client:
        assert client.get("/?key=secret").status_code == 200
        assert client.get("/", headers={"host": "evil.example"}).status_code == 400


def test_a_ledger_that_is_down_is_said_and_tried_again(env: Environment) -> None:
    """Its part of the first page and its own pages say so; once it is there again, they show it."""
    window = open_window(env.ledger)
    down = [True]

    def open_it() -> Environment:
        if down[0]:
            msg = "ledger postgresql://db cannot be used: connection refused; check that it is up and reachable"
            raise LedgerUnavailableError(msg)
        return env

    site = Site(ledgers={"main": open_it}, visitor=Person().arrive)
    with TestClient(make_app(site), raise_server_exceptions=False) as client:
        first, page = client.get("/"), client.get(f"/ledgers/main/windows/{window.id}")
        down[0] = False
        again = client.get(f"/ledgers/main/windows/{window.id}")

    assert (first.status_code, page.status_code, again.status_code) == (200, 503, 200)
    assert "This ledger cannot be read" in first.text
    assert "connection refused" in page.text


def test_a_connection_that_names_another_ledger_shows_that_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After half a minute, also to requests that go on with the earlier one, which has closed its connections."""
    envs = {}
    for name in ("old", "new"):
        ledger = open_ledger(f"sqlite:///{tmp_path / name}.db")
        open_window(ledger, feed=f"feed of {name}")
        envs[name] = Environment(ledger=ledger, stores=Stores(), observer=Observer())
    asked, named = [], ["old"]

    def open_it() -> Environment:
        asked.append(named[0])
        return replace(envs[named[0]], ledger=copy(envs[named[0]].ledger))

    client = TestClient(make_app(Site(ledgers={"main": open_it}, visitor=Person().arrive)))
    pages = [client.get("/").text]
    named[0] = "new"
    pages.append(client.get("/").text)
    monkeypatch.setattr("airflow_provider_blockread.pages.visit.time.monotonic", lambda: time.time() + 1e9)
    pages += [client.get("/").text, client.get("/").text]

    assert ["feed of old" in page for page in pages] == [True, True, False, False]
    assert ["feed of new" in page for page in pages] == [False, False, True, True]
    assert asked == ["old", "new"]


def test_a_connection_that_stays_keeps_its_ledger(env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is opened twice for good, and what is open stays so."""
    monkeypatch.setattr("airflow_provider_blockread.pages.visit.KEPT_S", 0)
    made = [replace(env, ledger=copy(env.ledger)) for _ in range(3)]
    ledgers = Ledgers(Site(ledgers={"main": iter(made).__next__}, visitor=Person().arrive))

    assert {id(ledgers.open("main").ledger) for _ in made} == {id(made[0].ledger)}


@pytest.mark.parametrize(("there", "said"), [(49, 0), (51, 1)])
def test_a_search_that_found_more_says_so(env: Environment, client: TestClient, there: int, said: int) -> None:
    """What is not listed was found all the same."""
    for number in range(there):
        close_empty_window(env.ledger, FEED, f"hour {number}", owner="me")

    assert client.get("/search?q=hour").text.count("The newest 50; enter more of the key to narrow the search.") == said


def test_a_search_says_what_it_could_not_look_into(env: Environment) -> None:
    """Nothing is found in the ledgers that can be read; where none can be, nothing is said of them."""

    def refuse() -> Environment:
        msg = "ledger postgresql://db cannot be used: connection refused; check that it is up and reachable"
        raise LedgerUnavailableError(msg)

    open_window(env.ledger)
    found = "has this in its name in a ledger that can be read"
    broken = Site(ledgers={"down": refuse}, visitor=Person().arrive)
    some, none = (
        TestClient(make_app(site)) for site in (replace(broken, ledgers={"down": refuse, "main": lambda: env}), broken)
    )

    assert found in some.get("/search?q=nowhere").text
    assert found not in none.get("/search?q=nowhere").text
    assert "Ledger down cannot be read" in none.get("/search?q=nowhere").text


def test_a_page_that_broke_stays_with_itself(env: Environment) -> None:
    """Its headers are those of every other page."""

    def broken() -> Environment:
        raise AssertionError

    client = TestClient(
        make_app(Site(ledgers={"main": broken}, visitor=Person().arrive)), raise_server_exceptions=False
    )
    right = TestClient(make_app(Site(ledgers={"main": lambda: env}, visitor=Person().arrive))).get("/").headers
    answer = client.get("/")

    assert answer.status_code == 500
    assert "Something broke" in answer.text
    assert {**right, "content-length": ""} == {**answer.headers, "content-length": ""}


def test_pages_stay_with_themselves(env: Environment) -> None:
    """No page may be framed by another origin, load anything from elsewhere, or be kept."""
    with TestClient(loopback_app(env, "secret"), base_url="http://127.0.0.1") as client:
        headers = client.get("/?key=secret").headers
        style = client.get("/static/pages.css")
        [named] = re.findall('href="(/static/pages.css[^"]*)"', client.get("/").text)
        kept = [client.get(path).headers["cache-control"] for path in (named, f"{named}x", "/static/pages.css")]

    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert style.headers["x-content-type-options"] == "nosniff"
    assert kept == ["public, max-age=31536000, immutable", "no-cache", "no-cache"]
