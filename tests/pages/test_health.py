"""The page of a ledger's health: what is not in order, and commands that really end it."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner
from starlette.testclient import TestClient

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.schema.file_tables import listings
from airflow_provider_blockread.ledger.upkeep.cleaning import Fit, finish_cleaning, write_down
from airflow_provider_blockread.ledger.upkeep.requests import find_request, open_request
from airflow_provider_blockread.ledger.upkeep.withdrawing import begin_undoing, find_withdrawal
from airflow_provider_blockread.ledger.windows.groups import fail_group
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps import WindowRef
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, claim, freeze_window, open_window, pending, plan, publish, ref
from tests.pages.visitors import Person, site_of
from tests.pipeline.make import Pipe, ReadHere

HEALTH = "/ledgers/main/health"


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A feed whose name a shell would take apart."""
    with closing(Pipe(tmp_path, ReadHere(), feed="logs of $(whoami)'s")) as made:
        yield made


def _published(pipe: Pipe, key: str) -> WindowRef:
    pipe.put({f"{key}.log": b"a\nb\n"})
    found = pipe.plan(key)
    pipe.read(found)
    pipe.commit(found)
    return found


def _commands(pipe: Pipe) -> list[str]:
    """Return the commands that the page shows."""
    text = TestClient(make_app(site_of(pipe.env, Person()))).get(HEALTH).text
    return [html.unescape(found) for found in re.findall("<code>([a-z]+ .*?)</code>", text)]


def _run(command: str, *more: str) -> str:
    program, *arguments = shlex.split(command)
    assert program == "blockread"
    done = CliRunner().invoke(blockread, [*arguments, *more])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("files", ["pending", "excluded"])
def test_the_command_of_a_withdrawal_ends_it(pipe: Pipe, files: str) -> None:
    """One that was stopped before it removed anything; then the page has nothing to end any more."""
    window = _published(pipe, "k").window
    begin_undoing(pipe.env.ledger, window, files=files, who="ann")
    [command] = _commands(pipe)
    _run(command, "--yes")
    held = find_withdrawal(pipe.env.ledger, window)

    assert held is not None
    assert held.finished_at is not None
    assert held.files == files
    assert list(pipe.out.rglob("*.parquet")) == []
    assert _commands(pipe) == []


@pytest.mark.parametrize(
    "asked",
    [
        {"window": "k's"},
        {"since": datetime(2025, 12, 31, 23, 59, 58, tzinfo=UTC), "until": datetime(2027, 1, 1, tzinfo=UTC)},
        {"first_key": "a b", "last_key": "z"},
    ],
    ids=["a window", "times", "keys"],
)
@pytest.mark.parametrize("files", [None, FileChoice(path="**/k's.log"), FileChoice()])
def test_the_command_of_a_rebuild_continues_it(
    pipe: Pipe, asked: dict[str, str | datetime], files: FileChoice | None
) -> None:
    """The same words are the same request; nothing that is part of a name runs in a shell."""
    _published(pipe, "k's")
    request = RebuildRequest(range=WindowRange(feed=pipe.feed, **asked), files=files)
    open_request(pipe.env.ledger, request.action, request.to_json(), who="cli/ann@host/7")
    [command] = _commands(pipe)
    said = _run(command, "--dry-run")

    assert f"This continues with the {request.action} that cli/ann@host/7 began" in said
    assert find_request(pipe.env.ledger, request.action, request.to_json()) is not None


def test_what_a_task_has_begun_is_ended_by_its_run(client: TestClient, env: Environment) -> None:
    """A command that a run of Airflow carries out is continued by clearing that run."""
    open_window(env.ledger)
    asked = RebuildRequest(range=WindowRange(feed=FEED), task="upkeep/manual__1/rebuild/-1").to_json()
    open_request(env.ledger, "rebuild", asked, who="upkeep/manual__1/rebuild/-1")

    assert "<code>airflow dags clear upkeep --run-id manual__1</code>" in client.get(HEALTH).text


def test_a_begun_cleaning_is_there_until_it_is_done(client: TestClient, env: Environment, clock: Clock) -> None:
    """It may have removed files of which it did not record this."""
    publish(env.ledger, open_window(env.ledger))
    clock.pass_seconds(60)
    fit = Fit(feed=FEED, action="delete", before=env.ledger.now())
    begun = write_down(env.ledger, fit, {1: None, 2: None}, who="ann")
    texts = [client.get(HEALTH).text]
    finish_cleaning(env.ledger, {"done": begun})
    texts.append(client.get(HEALTH).text)

    assert ["repeat the command that ann began" in text for text in texts] == [True, False]


def test_a_stuck_window_has_the_commands_that_resume_it_or_give_it_up(client: TestClient, env: Environment) -> None:
    """That of its run, where one planned it; without one, words."""
    by_hand = open_window(env.ledger, "by hand", ("a", "b"))
    fail_group(env.ledger, claim(env.ledger, ref(by_hand)), "broke")
    words = client.get(HEALTH).text
    publish(env.ledger, by_hand)
    asked = plan("k", files=0, owner="load/manual__1/logs.plan/-1")
    open_window(env.ledger, "other", ("c",))
    window = freeze_window(env.ledger, asked, pending(env.ledger))
    fail_group(env.ledger, claim(env.ledger, ref(window)), "broke")
    text = client.get(HEALTH).text

    assert "repeat the command that began it" in words
    assert "airflow dags clear" not in words
    assert "<code>airflow dags clear load --run-id manual__1</code>" in text
    assert f"<code>blockread windows abandon {window.id} --state" in text


def test_a_listing_that_died_names_what_lists_again(client: TestClient, env: Environment, clock: Clock) -> None:
    """The DAG of its feed, which a run starts; a feed without one repeats its command."""
    open_window(env.ledger)
    with env.ledger.writing() as connection:
        connection.execute(listings.update().values(finished_at=None))
    clock.pass_seconds(2 * 3600)
    by_hand = client.get(HEALTH).text
    freeze_window(env.ledger, replace(plan("k2", files=0), run="load/manual__1"), [])

    assert "repeat the command" in by_hand
    assert "<code>airflow dags trigger load</code>" in client.get(HEALTH).text


def test_listings_that_fail_again_and_again_are_seen(client: TestClient, env: Environment, clock: Clock) -> None:
    """However lately the newest of them began; the page does not call that healthy."""
    open_window(env.ledger)
    assert "The listings of" not in client.get(HEALTH).text
    for _ in range(3):
        clock.pass_seconds(2000)
        record_files(env.ledger, FEED, [])
        with env.ledger.writing() as connection:
            connection.execute(listings.update().where(listings.c.id > 1).values(finished_at=None))
    text = client.get(HEALTH).text
    record_files(env.ledger, FEED, [])

    assert "The listings of 1 feed have failed or not ended for an hour" in text
    assert "the next plan or watch lists again" in text
    assert "The listings of" not in client.get(HEALTH).text


def test_commands_about_feeds_of_others_are_not_there(env: Environment) -> None:
    """Their arguments name feeds, windows and files."""
    window = open_window(env.ledger)
    for asked in ({"feed": FEED}, {"window": window.id}, {"window": "k"}):
        open_request(env.ledger, "rebuild", asked, who="somebody")
    texts = [
        TestClient(make_app(site_of(env, person))).get(HEALTH).text for person in (Person(), Person(sees={"other"}))
    ]

    assert [text.count("somebody") for text in texts] == [3, 0]


def test_who_may_not_see_every_feed_sees_nothing_of_the_whole(env: Environment, clock: Clock) -> None:
    """No number, identity or command of the ledger; the page says what it omits, and calls nothing healthy."""
    publish(env.ledger, open_window(env.ledger, feed="payments"))
    clock.pass_seconds(91 * 86_400)
    fail_group(env.ledger, claim(env.ledger, ref(open_window(env.ledger, "k2", ("c",), feed="payments"))), "broke")
    open_window(env.ledger, "k3", ("d",), feed="clicks")
    people = (Person(), Person(sees={"clicks"}), Person(sees=set()))
    texts = [TestClient(make_app(site_of(env, one))).get(f"{HEALTH}?leftovers=1").text for one in people]
    whole = (env.ledger.uuid, "<dt>database</dt>", "blockread prune", 'id="leftovers"')

    assert [[one in text for one in whole] for text in texts] == [[True] * 4, [False] * 4, [False] * 4]
    assert ["1 window failed or stalled" in text for text in texts] == [True, False, False]
    assert ["No window that you may see failed or stalled" in text for text in texts] == [False, True, False]
    assert [re.findall(r"(\d) feeds? that you may not see", text) for text in texts] == [[], ["1"], ["2"]]
    assert "healthy" not in texts[2]
