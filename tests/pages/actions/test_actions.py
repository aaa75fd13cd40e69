"""Actions from a page: they say first what they will do, are confirmed once, and recorded with the person's name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.upkeep.withdrawing import find_withdrawal
from airflow_provider_blockread.ledger.windows.progress import window_progress
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.make import open_window
from tests.pages.conftest import site_of
from tests.pages.visitors import Person

OWN = {"origin": "http://testserver"}


@pytest.fixture
def window(env: Environment) -> Window:
    """A window of two files that waits to be read."""
    return open_window(env.ledger)


def _form(text: str) -> dict[str, str]:
    """Return the hidden fields of the page's form."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text))


def _path(window: Window, action: str) -> str:
    return f"/ledgers/main/windows/{window.id}/actions/{action}"


def test_an_action_says_what_it_will_do_and_does_it_once(client: TestClient, env: Environment, window: Window) -> None:
    """Looking changes nothing; confirming does it in the person's name; the same token does nothing again."""
    shown = client.get(_path(window, "abandon")).text
    waits = window_progress(env.ledger, window.id).state
    done = client.post(_path(window, "abandon"), data=_form(shown), headers=OWN)
    again = client.post(_path(window, "abandon"), data=_form(shown), headers=OWN)
    held = find_withdrawal(env.ledger, window.id)

    assert "its 2 files (20 B) go back to pending" in shown
    assert waits == "waiting"
    assert (done.status_code, again.status_code) == (200, 409)
    assert "go back to pending" in done.text
    assert "Nothing was done" in again.text
    assert held is not None
    assert held.who == "ann"


@pytest.mark.parametrize(
    ("headers", "token"), [({}, True), ({"origin": "http://testserver:81"}, True), (OWN, False)], ids=str
)
def test_a_form_of_another_page_does_nothing(
    client: TestClient, env: Environment, window: Window, headers: dict[str, str], *, token: bool
) -> None:
    """Neither from another port of this host, nor without the token of our own page."""
    form = _form(client.get(_path(window, "abandon")).text) if token else {}
    answer = client.post(_path(window, "abandon"), data=form, headers=headers)

    assert answer.status_code == (403 if token else 409)
    assert window_progress(env.ledger, window.id).state == "waiting"


def test_a_token_of_another_person_does_nothing(client: TestClient, env: Environment, window: Window) -> None:
    """What one person has seen, another one has not."""
    site = site_of(env, Person(name="bob"))
    form = _form(client.get(_path(window, "abandon")).text)

    assert TestClient(make_app(site)).post(_path(window, "abandon"), data=form, headers=OWN).status_code == 409


def test_an_action_that_is_not_possible_says_what_is(client: TestClient, window: Window) -> None:
    """The same words as on the command line, and no button."""
    answer = client.get(_path(window, "undo"), params={"files": "pending"})

    assert answer.status_code == 409
    assert "nothing of it is published" in answer.text or "not published" in answer.text
    assert "<button" not in answer.text.split('class="action"')[1].replace("data-copy", "").replace(
        '<button type="button"', ""
    )
    assert client.get(_path(window, "burn")).status_code == 404


def test_an_action_asks_for_what_it_needs(client: TestClient, window: Window) -> None:
    """First the form, which keeps what was given; then what it will do, if the window holds the file."""
    form = client.get(_path(window, "exclude"), params={"path": "file:///in/<a>"}).text
    unknown: Any = client.get(_path(window, "exclude"), params={"path": "file:///in/zzz", "reason": "spoilt"})

    assert 'name="reason"' in form
    assert "file:///in/&lt;a&gt;" in form
    assert unknown.status_code == 409
