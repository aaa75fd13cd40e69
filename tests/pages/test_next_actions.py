"""What the page of a window says can be done next, in each of its states."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Window, Withdrawal
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_undoing, finish_withdrawal
from airflow_provider_blockread.ledger.windows.groups import fail_group
from airflow_provider_blockread.ledger.windows.journal import journal
from airflow_provider_blockread.ledger.windows.planning import claim_window
from airflow_provider_blockread.ledger.windows.publishing import mark_proven
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.site import Schedules as AllSchedules
from airflow_provider_blockread.steps.model import Environment
from tests.ledger import make
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, freeze_window, pending, plan, publish, ref, version
from tests.pages.visitors import Person, site_of

CLEAR = "airflow dags clear load --run-id manual__1"


@dataclass
class Page:
    """The page of a window."""

    client: TestClient
    window: Window

    def __str__(self) -> str:
        """Return what can be done next."""
        text = self.client.get(f"/ledgers/main/windows/{self.window.id}").text
        found = re.search(r'aria-label="What can be done next">(.*?)</section>', text, flags=re.DOTALL)
        return "" if found is None else " ".join(re.sub("<[^>]*>", " ", found[1]).split()[5:])

    @property
    def abandon(self) -> str:
        """The command that gives the window up."""
        return f"blockread windows abandon {self.window.id} --state"

    @property
    def undo(self) -> str:
        """The command that removes the window's output."""
        return f"blockread windows undo {self.window.id} --files"


@pytest.fixture
def page(client: TestClient, env: Environment) -> Page:
    """That of a window of two groups, planned by a run."""
    record_files(env.ledger, FEED, [version("a"), version("b")], complete=False)
    planned = replace(plan("k", files=2), run="load/manual__1")
    return Page(client, freeze_window(env.ledger, planned, pending(env.ledger)))


def test_a_plan_under_way_is_waited_for(client: TestClient, env: Environment, clock: Clock) -> None:
    """There is nothing to give up yet; one whose planner has ended is repeated."""
    with claim_window(env.ledger, FEED, "slow", owner="planner"):
        [found] = list_windows(env.ledger, FEED)
        page = Page(client, found.window)
        at_work = str(page)
        clock.pass_seconds(600)
        ended = str(page)

    assert at_work == "Wait. The plan lists the source and freezes the files that the window will read."
    assert ended.startswith("Take over. Repeat the command")
    assert "abandon" not in ended


def test_a_window_that_is_read_goes_on_or_is_given_up(page: Page, env: Environment, clock: Clock) -> None:
    """By itself while somebody is at work; by clearing its run once that or the reader has ended, or has failed."""
    said = {"waiting": str(page)}
    claimed = make.claim(env.ledger, ref(page.window))
    said["reading"] = str(page)
    clock.pass_seconds(600)
    said["stalled"] = str(page)
    fail_group(env.ledger, claimed, "broke")
    said["failed"] = str(page)
    make.read_all(env.ledger, page.window)
    make.committer(env.ledger, page.window)
    said["proving"] = str(page)

    assert all(page.abandon in words for words in said.values())
    assert {state: words.split(".")[0] for state, words in said.items()} == {
        "waiting": "Wait",
        "reading": "Wait",
        "stalled": "Take over",
        "failed": "Fix the cause and read on",
        "proving": "Wait",
    }
    assert [state for state, words in said.items() if CLEAR in words] == ["waiting", "stalled", "failed"]
    assert "If its run has ended, clear the run from its plan on." in said["waiting"]


def test_a_window_whose_run_was_deleted_is_given_up(page: Page, env: Environment) -> None:
    """The command that clears the run is no way on; that of another Airflow may have it, so that it is shown."""

    class Schedules(AllSchedules):
        def has_run(self, dag: str, run: str) -> bool:
            return (dag, run) != ("load", "manual__1")

    fail_group(env.ledger, make.claim(env.ledger, ref(page.window)), "broke")
    known = str(page)
    page.client = TestClient(make_app(replace(site_of(env, Person()), schedules=Schedules())))
    note = "Airflow does not have this run: if it was deleted, only what follows is left."

    assert CLEAR in str(page)
    assert str(page).index(note) < str(page).index("Give it up")
    assert note not in known


def test_a_window_that_is_published_is_not_given_up(page: Page, env: Environment, clock: Clock) -> None:
    """Where half of its output may be there, that is removed, or its run continues."""
    make.read_all(env.ledger, page.window)
    held = make.committer(env.ledger, page.window)
    mark_proven(env.ledger, held, make.SUMS)
    journal(env.ledger, held, make.steps(), outputs=make.outputs())
    at_work = str(page)
    clock.pass_seconds(600)
    half = str(page)

    assert at_work == "Wait. It is proven, and its output is being published."
    assert CLEAR in half
    assert f"{page.undo} pending --state" in half
    assert "abandon" not in half


def test_a_published_window_is_read_again_or_withdrawn(page: Page, env: Environment) -> None:
    """What was begun of a withdrawal is ended; files that it left excluded are given back."""
    publish(env.ledger, page.window)
    published = str(page)
    begin_undoing(env.ledger, page.window.id, files="excluded", who="ann")
    begun = str(page)
    finish_withdrawal(env.ledger, Withdrawal(window=page.window.id, files="excluded", who="ann"))

    assert re.findall("Rebuild|Reprocess files|Verify|Remove its output", published) == [
        *("Rebuild", "Reprocess files", "Verify", "Remove its output")
    ]
    assert begun.startswith("Finish it. ann gave the window up")
    assert f"{page.undo} excluded --state" in begun
    assert f"{page.undo} pending --state" in str(page)
