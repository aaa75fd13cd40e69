"""Actions from a page: they say first what they will do, are confirmed once, and recorded with the person's name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.upkeep.withdrawing import find_withdrawal
from airflow_provider_blockread.ledger.windows.exclusions import list_exclusions
from airflow_provider_blockread.pages.app import make_app
from tests.pages.visitors import Person, site_of
from tests.pipeline.here import ReadHere
from tests.pipeline.make import Pipe

OWN = {"origin": "http://testserver"}


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A feed of two files, read in this process."""
    made = Pipe(folder=tmp_path, submitter=ReadHere())
    made.put({"a": b"1\n2\n", "b": b"3\n"})
    yield made
    made.close()


def _client(pipe: Pipe, name: str = "ann") -> TestClient:
    return TestClient(make_app(site_of(pipe.env, Person(name=name))))


def _form(text: str) -> dict[str, str]:
    """Return the hidden fields of the page's form."""
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', text))


def _path(window: str, action: str) -> str:
    return f"/ledgers/main/windows/{window}/actions/{action}"


def test_an_action_says_what_it_will_do_and_does_it_once(pipe: Pipe) -> None:
    """Looking changes nothing; confirming does it in the person's name; the same form does nothing again."""
    window, client = pipe.plan().window, _client(pipe)
    shown = client.get(_path(window, "abandon")).text
    before = find_withdrawal(pipe.env.ledger, window)
    done = client.post(_path(window, "abandon"), data=_form(shown), headers=OWN)
    again = client.post(_path(window, "abandon"), data=_form(shown), headers=OWN)
    held = find_withdrawal(pipe.env.ledger, window)

    assert "its 2 files (6 B) go back to pending" in shown
    assert before is None
    assert (done.status_code, again.status_code) == (200, 409)
    assert "go back to pending" in done.text
    assert "Nothing was done" in again.text
    assert held is not None
    assert held.who == "ann"


def test_an_undone_window_leaves_nothing(pipe: Pipe) -> None:
    """The page asks what becomes of the files, and removes the output."""
    window, client = pipe.run().window, _client(pipe)
    form = client.get(_path(window, "undo")).text
    shown = client.get(_path(window, "undo"), params={"files": "pending"}).text
    done = client.post(_path(window, "undo"), data=_form(shown), headers=OWN)

    assert "<select" in form
    assert "1 published files" in shown
    assert done.status_code == 200
    assert pipe.published() == []


def test_a_file_is_left_out_for_a_reason(pipe: Pipe) -> None:
    """Its path and the reason are asked for; names of any kind stay text."""
    window, client = pipe.plan().window, _client(pipe)
    given = {"path": pipe.uri("b"), "reason": "<b>spoilt</b>"}
    form = client.get(_path(window, "exclude"), params={"path": "<a>"}).text
    shown = client.get(_path(window, "exclude"), params=given).text
    done = client.post(_path(window, "exclude"), data=given | {"token": _form(shown)["token"]}, headers=OWN)
    (left,) = list_exclusions(pipe.env.ledger, window, 1, limit=9)

    assert 'value="&lt;a&gt;"' in form
    assert 'value="&lt;b&gt;spoilt&lt;/b&gt;"' in shown
    assert done.status_code == 200
    assert (left.path, left.reason, left.who) == (pipe.uri("b"), "<b>spoilt</b>", "ann")


@pytest.mark.parametrize("headers", [{}, {"origin": "http://testserver:81"}, {"sec-fetch-site": "same-site"}], ids=str)
def test_a_form_of_another_page_does_nothing(pipe: Pipe, headers: dict[str, str]) -> None:
    """A form on another port of this host carries Airflow's cookie; it is refused even with the token."""
    window, client = pipe.plan().window, _client(pipe)
    form = _form(client.get(_path(window, "abandon")).text)

    assert client.post(_path(window, "abandon"), data=form, headers=headers).status_code == 403
    assert find_withdrawal(pipe.env.ledger, window) is None


def test_a_token_is_for_one_person_and_for_what_was_shown(pipe: Pipe) -> None:
    """Without it, as somebody else, for another action, or once the window has moved on, nothing is done."""
    ref = pipe.plan()
    window, client = ref.window, _client(pipe)
    path, form = _path(window, "abandon"), _form(client.get(_path(window, "abandon")).text)
    refused = [
        client.post(path, headers=OWN),
        _client(pipe, "bob").post(path, data=form, headers=OWN),
        client.post(_path(window, "exclude"), data=form | {"path": pipe.uri("a"), "reason": "x"}, headers=OWN),
    ]
    pipe.read(ref)
    refused.append(client.post(path, data=form, headers=OWN))

    assert [answer.status_code for answer in refused] == [409] * 4
    assert "1 of 1 groups are read already" in refused[-1].text
    assert find_withdrawal(pipe.env.ledger, window) is None


def test_an_action_that_is_not_possible_says_what_is(pipe: Pipe) -> None:
    """In the words of the command line, and without a button that confirms."""
    window, client = pipe.run().window, _client(pipe)
    answer = client.get(_path(window, "abandon"))

    assert answer.status_code == 409
    assert f"blockread windows undo {window}" in answer.text
    assert 'name="token"' not in answer.text
    assert client.get(_path(window, "burn")).status_code == 404
    assert client.get(_path("0" * 16, "undo")).status_code == 404


def test_the_window_page_offers_actions_to_those_who_may(pipe: Pipe) -> None:
    """Who may only look sees no button."""
    window = pipe.run().window
    looks = TestClient(make_app(site_of(pipe.env, Person(changes=set()))))

    assert f"{_path(window, 'undo')}" in _client(pipe).get(f"/ledgers/main/windows/{window}").text
    assert "/actions/" not in looks.get(f"/ledgers/main/windows/{window}").text
