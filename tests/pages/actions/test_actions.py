"""Actions from a page: they say first what they will do, are confirmed once, and recorded with the person's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.schema.upkeep_tables import requests
from airflow_provider_blockread.ledger.upkeep.withdrawing import find_withdrawal
from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.site import Again, Tasks
from airflow_provider_blockread.steps import plan
from tests.pages.actions.forms import OWN
from tests.pages.actions.forms import client_of as _client
from tests.pages.actions.forms import fields_of as _form
from tests.pages.actions.forms import path_of as _path
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe


@dataclass
class Cleared(Tasks):
    """Tasks that only count how often they were cleared; a run has been cleared twice before."""

    why: str = ""
    times: int = 0

    def refusal(self, again: Again) -> str:  # noqa: ARG002
        """Return the reason that the test gives."""
        return self.why

    def clear(self, again: Again, who: str, begin: Callable[[int], object]) -> None:  # noqa: ARG002
        """Begin what they would read."""
        begin(3)
        self.times += 1


def _by_a_run(pipe: Pipe) -> str:
    """Return the id of a window that a run has planned and published."""
    pipe.owner = "load/manual__1/logs.plan/-1"
    ref = plan(pipe.env, replace(pipe.request("w"), run="load/manual__1"))
    pipe.read(ref)
    return pipe.commit(ref).window


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
    assert "go back to pending" in done.text
    assert "This is done already" in again.text
    assert "abandoned by ann" in again.text
    assert held is not None
    assert held.who == "ann"


def test_what_was_done_has_an_address_of_its_own(pipe: Pipe) -> None:
    """To reload it sends nothing again; nobody can make up such an address, and it is for one person."""
    window, client = pipe.run().window, _client(pipe)
    shown = client.get(_path(window, "undo"), params={"files": "pending"}).text
    sent = client.post(_path(window, "undo"), data=_form(shown), headers=OWN, follow_redirects=False)
    address = sent.headers["location"]
    pages = [client.get(address).text for _ in range(2)]
    others = [
        client.get(address.replace("removed", "kept")),
        _client(pipe, "bob").get(address),
        client.get(_path(window, "undo"), params={"files": "pending"}),
    ]

    assert sent.status_code == 303
    assert all("Done." in page and "1 published file (" in page for page in pages)
    assert not any("Done." in other.text for other in others)


def test_an_undone_window_leaves_nothing(pipe: Pipe) -> None:
    """The page asks what becomes of the files, and removes the output."""
    window, client = pipe.run().window, _client(pipe)
    form = client.get(_path(window, "undo")).text
    shown = client.get(_path(window, "undo"), params={"files": "pending"}).text
    done = client.post(_path(window, "undo"), data=_form(shown), headers=OWN)

    assert "<select" in form
    assert "1 published file (" in shown
    assert done.status_code == 200
    assert pipe.published() == []


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
    assert "the results of 1 of 1 group are discarded" in refused[-1].text
    assert find_withdrawal(pipe.env.ledger, window) is None


@pytest.mark.parametrize("action", ["abandon", "exclude"])
def test_what_is_shown_of_a_stalled_window_holds_while_time_passes(pipe: Pipe, action: str) -> None:
    """The age of the last sign of life is another one when the person confirms; nothing else has changed."""
    window, client = pipe.plan().window, _client(pipe)
    group = GroupRef(window=window, generation=1, group=0)
    claim_group(pipe.env.ledger, group, owner="gone", clear_number=0, stale_after_s=60)
    pipe.pass_seconds(67)
    given = {"path": pipe.uri("b"), "reason": "spoilt"} if action == "exclude" else {}
    shown = client.get(_path(window, action), params=given).text
    pipe.pass_seconds(7)
    done = client.post(_path(window, action), data=_form(shown), headers=OWN)

    assert "now stalled (last sign of life 2026-01-01 00:00:00Z)" in shown
    assert done.status_code == 200


def test_an_action_that_is_not_possible_says_what_is(pipe: Pipe) -> None:
    """In the words of the command line, and without a button that confirms."""
    window, client = pipe.run().window, _client(pipe)
    answer = client.get(_path(window, "abandon"))

    forced = client.post(_path(window, "abandon"), headers=OWN)

    assert (answer.status_code, forced.status_code) == (200, 409)
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


@pytest.mark.parametrize("action", ["rebuild", "verify", "reprocess"])
def test_a_window_is_read_again_by_the_tasks_of_its_run(pipe: Pipe, action: str) -> None:
    """The generation is begun in the person's name for the clear to come; the tasks are cleared once."""
    window, tasks = _by_a_run(pipe), Cleared()
    client = TestClient(make_app(replace(site_of(pipe.env, Person()), tasks=tasks)))
    given = {"path": "**/b", "status": "done"} if action == "reprocess" else {}
    shown = client.get(_path(window, action), params=given).text
    done = client.post(_path(window, action), data=given | {"token": _form(shown)["token"]}, headers=OWN)
    begun = list_generations(pipe.env.ledger, window)[-1]
    with pipe.env.ledger.reading() as connection:
        (request,) = connection.execute(select(requests)).all()

    assert "as generation 2" in shown
    assert (done.status_code, tasks.times) == (200, 1)
    assert (begun.number, begun.run, begun.clear_number) == (2, "load/manual__1", 3)
    assert begun.mode == ("verify" if action == "verify" else "write")
    assert (request.action, request.who, request.finished_at is None) == (action, "ann", False)


def test_who_gives_a_rebuild_up_is_recorded(pipe: Pipe) -> None:
    """The generation keeps the person's name, the window its output; a second time says who it was."""
    window = _by_a_run(pipe)
    client = TestClient(make_app(replace(site_of(pipe.env, Person()), tasks=Cleared())))
    client.post(
        _path(window, "rebuild"), data={"token": _form(client.get(_path(window, "rebuild")).text)["token"]}, headers=OWN
    )
    client.post(
        _path(window, "abandon"), data={"token": _form(client.get(_path(window, "abandon")).text)["token"]}, headers=OWN
    )

    assert [(one.state, one.given_up_by) for one in list_generations(pipe.env.ledger, window)] == [
        ("published", None),
        ("superseded", "ann"),
    ]
    assert "given up by ann" in client.get(f"/ledgers/main/windows/{window}").text
    assert "generation 2 was given up by ann" in client.get(_path(window, "abandon")).text


@pytest.mark.parametrize(
    ("tasks", "why"), [(Tasks(), "These pages run without Airflow"), (Cleared("It is running"), "It is running")]
)
def test_what_no_task_can_read_is_a_command_to_copy(pipe: Pipe, tasks: Tasks, why: str) -> None:
    """The page says why, and neither shows a button nor takes a form that somebody sends all the same."""
    window = _by_a_run(pipe)
    client = TestClient(make_app(replace(site_of(pipe.env, Person()), tasks=tasks)))
    shown = client.get(_path(window, "rebuild")).text
    forced = client.post(_path(window, "rebuild"), data=_form(shown), headers=OWN)

    assert why in shown
    assert f"blockread windows rebuild {window} --state" in shown
    assert _form(shown)["token"] == ""
    assert forced.status_code == 409
    assert len(list_generations(pipe.env.ledger, window)) == 1


def test_a_window_of_the_command_line_is_read_from_there(pipe: Pipe) -> None:
    """No run has planned it, so no task can read it."""
    window = pipe.run().window

    assert "No run of Airflow has planned this window" in _client(pipe).get(_path(window, "rebuild")).text
