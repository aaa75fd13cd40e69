"""The tabs of a DAG, a run and a task: what they say of windows in every state, and to whom."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from airflow_provider_blockread.errors import shell_word
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import Claim, Window
from airflow_provider_blockread.ledger.schema.tables import groups
from airflow_provider_blockread.ledger.windows.generations import start_generation
from airflow_provider_blockread.ledger.windows.groups import claim_group, fail_group, record_progress
from airflow_provider_blockread.ledger.windows.planning import claim_window
from airflow_provider_blockread.ledger.windows.scans import begin_scan, end_scan
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.clock import Clock
from tests.ledger.make import FEED, STALE_S, close_empty_window, freeze_window, pending, plan, publish, ref, version
from tests.pages.visitors import Person, site_of

RUN = "dag_id=load&run_id=manual__1"
BAD = (
    "csv record at byte 47 of file:///in/a block 0 bytes [0, 63), line 4: column 'when' is not of type date: 'bad'; the"
    " record is b'3,\"<b>\\x00\",bad'; leave the file out with `blockread windows exclude W file:///in/a --reason bad`"
)


@pytest.fixture
def window(env: Environment) -> Window:
    """A window of two groups, planned by a run."""
    record_files(env.ledger, FEED, [version("a"), version("b")], complete=False)
    planned = plan("k1", files=2, owner="load/manual__1/logs.plan/-1")
    return freeze_window(env.ledger, replace(planned, run="load/manual__1"), pending(env.ledger))


def _read(env: Environment, window: Window, group: int) -> Claim:
    owner = f"load/manual__1/logs.read/{group}"
    return claim_group(env.ledger, ref(window, group), owner=owner, clear_number=0, stale_after_s=STALE_S)


def test_a_task_shows_how_far_its_group_is(client: TestClient, env: Environment, window: Window, clock: Clock) -> None:
    """Blocks, bytes and records of its newest attempt, their speed, and how long the rest takes."""
    _read(env, window, 1)
    clock.pass_seconds(5)
    so_far = {"records_done": 1234, "bytes_done": 5, "progress_at": env.ledger.now()}
    with env.ledger.writing() as connection:
        connection.execute(groups.update().where(groups.c.number == 1).values(so_far))
    text = client.get(f"/tabs/task?{RUN}&task_id=logs.read&map_index=1").text
    live = client.get(f"/tabs/task/live?{RUN}&task_id=logs.read&map_index=1").json()

    assert "group 1 of 2" in text
    assert "0 of 2 blocks, 0 %" in text
    assert "1,234" in text
    assert "<dt>time left</dt><dd>5.0 s" in text
    assert (live["moving"], live["state"]) == (True, "reading")
    assert live["html"].strip() in text


def test_pages_agree_on_how_long_the_rest_takes(
    client: TestClient, env: Environment, window: Window, clock: Clock
) -> None:
    """A group by its own rate, a window by that of the groups that are read now: as of their last report."""
    record_progress(env.ledger, _read(env, window, 0), Tally())
    claim = _read(env, window, 1)
    clock.pass_seconds(10)
    record_progress(env.ledger, claim, Tally(blocks=1, records=5, bytes=5))
    clock.pass_seconds(30)
    asked = (
        "/",
        f"/ledgers/main/windows/{window.id}",
        f"/tabs/run?{RUN}",
        f"/tabs/task?{RUN}&task_id=logs.read&map_index=1",
    )
    feeds, of_window, run, task = (client.get(path).text for path in asked)

    assert "50 % of the blocks, about 30 s left" in feeds
    assert "5 records; about 30 s left; last sign of life" in of_window
    assert '<span class="sub">about 10 s left' in of_window
    assert "<dt>time left</dt><dd>about 30 s<" in run
    assert "<dt>time left</dt><dd>10 s" in task


def test_a_running_application_is_linked_to_its_own_pages(client: TestClient, env: Environment, window: Window) -> None:
    """On the task and the window, while it runs; without a history server its id is all that is left."""
    claim = _read(env, window, 1)
    record_progress(env.ledger, claim, Tally(), application="local-7", ui="http://worker:4040")
    pages = (f"/tabs/task?{RUN}&task_id=logs.read&map_index=1", f"/ledgers/main/windows/{window.id}")
    running = [client.get(page).text for page in pages]
    fail_group(env.ledger, claim, "broke")
    ended = [client.get(page).text for page in pages]

    assert all('<a href="http://worker:4040" data-out rel="noreferrer">Spark local-7</a>' in text for text in running)
    assert all("Spark local-7" in text and "worker:4040" not in text for text in ended)


def test_a_scan_is_a_stage_of_the_window(client: TestClient, env: Environment, window: Window, clock: Clock) -> None:
    """Where one has begun: it is under way until its states are found, and then has its time."""
    page = f"/ledgers/main/windows/{window.id}"
    before = client.get(page).text
    epoch = begin_scan(env.ledger, window.id)
    alone = client.get(page).text
    _read(env, window, 0)
    at_it = client.get(page).text
    clock.pass_seconds(5)
    end_scan(env.ledger, window.id, epoch)
    over = client.get(page).text

    assert "<b>scanned</b>" not in before
    assert '<li class="now" aria-current="step"><b>scanned</b>under way' in alone
    assert "</span>scanning</span>" in alone
    assert "A scan finds where records begin" in alone
    assert 'data-moving="true" data-state="scanning"' in alone
    assert '<li class="now" aria-current="step"><b>scanned</b>under way' in at_it
    assert '<li class="past"><b>scanned</b><time datetime="2026-01-01T00:00:05' in over


def test_a_task_that_has_not_begun_shows_its_group(client: TestClient, window: Window) -> None:
    """Its place among the mapped tasks is the number of its group; a task elsewhere has no window."""
    assert "group 1 of 2" in client.get(f"/tabs/task?{RUN}&task_id=logs.read&map_index=1").text
    assert window.id in client.get(f"/tabs/task?{RUN}&task_id=logs.commit&map_index=%7BMAP_INDEX%7D").text
    assert "has read nothing" in client.get(f"/tabs/task?{RUN}&task_id=mail&map_index=-1").text


def test_a_task_is_told_only_what_is_known_of_it(client: TestClient, env: Environment, window: Window) -> None:
    """Mapped tasks near the one that reads are read by none of them; a run with a window is not called empty."""
    asked = ("logs.read&map_index=1", "logs.other&map_index=1", "logs.commit&map_index=-1", "mail&map_index=-1")
    before = [client.get(f"/tabs/task?{RUN}&task_id={task}").text for task in asked]
    owner = "load/manual__1/logs.mine/0"
    claim_group(env.ledger, ref(window, 0), owner=owner, clear_number=0, stale_after_s=STALE_S)
    begun = [client.get(f"/tabs/task?{RUN}&task_id=logs.{task}&map_index=1").text for task in ("read", "mine")]
    unknown = client.get("/tabs/task?dag_id=load&run_id=none&task_id=mail&map_index=-1").text

    assert ["group 1 of 2" in text for text in before] == [True, False, False, False]
    assert ["What this task worked on" in text for text in before] == [True, False, False, False]
    assert ["worked on" in text for text in before] == [True, True, True, False]
    assert ["group 1 of 2" in text for text in begun] == [False, True]
    assert "No window of this run was planned by a task in the task group of this one" in before[-1]
    assert "This run has no window in ledger main" in unknown


def test_stages_have_their_date_and_zone(client: TestClient, env: Environment, window: Window, clock: Clock) -> None:
    """In Airflow's tabs as on the page of the window."""
    clock.pass_seconds(5)
    _read(env, window, 0)
    run, page = (client.get(path).text for path in (f"/tabs/run?{RUN}", f"/ledgers/main/windows/{window.id}"))

    assert "00:00:00</time> <small>01 Jan 2026, UTC</small>" in run
    assert "00:00:00</time> <small>01 Jan 2026, UTC</small>" in page
    assert "00:00:05</time> <small>5.0 s later</small>" in run


def test_an_error_comes_first_with_the_record(client: TestClient, env: Environment, window: Window) -> None:
    """The bytes of the record are there as text and in hex, and the command that the error names is complete."""
    fail_group(env.ledger, _read(env, window, 0), BAD.replace(" W ", f" {window.id} "))
    text = client.get(f"/tabs/task?{RUN}&task_id=logs.read&map_index=0").text

    assert text.index("is not of type date") < text.index("group 0 of 2")
    assert text.count("is not of type date") == 1
    assert "3,&#34;&lt;b&gt;·&#34;,bad" in text
    assert "33 2c 22 3c 62 3e 00 22 2c 62 61 64" in text
    state = shell_word(env.ledger.address)
    assert f"blockread windows exclude {window.id} file:///in/a --reason bad --state {state}" in html.unescape(text)


def test_a_group_that_failed_fails_its_day(client: TestClient, env: Environment, window: Window) -> None:
    """The calendar of the DAG shows it at once, not only once the window has failed its proof."""
    before = client.get("/tabs/dag?dag_id=load").text
    fail_group(env.ledger, _read(env, window, 0), BAD)

    assert "1 failed" not in before
    assert "1 failed" in client.get("/tabs/dag?dag_id=load").text


def test_a_day_is_as_its_newest_generation(client: TestClient, env: Environment, window: Window) -> None:
    """A group that failed in an earlier pass fails no day any more; one that fails in the new pass does."""
    fail_group(env.ledger, _read(env, window, 0), BAD)
    start_generation(env.ledger, window.id, options={}, mode="write", clear_number=1)
    begun = client.get("/tabs/dag?dag_id=load").text
    again = claim_group(
        env.ledger, ref(window, 1, 2), owner="load/manual__1/logs.read/1", clear_number=1, stale_after_s=STALE_S
    )
    fail_group(env.ledger, again, BAD)

    assert "1 failed" not in begun
    assert "1 failed" in client.get("/tabs/dag?dag_id=load").text


def test_an_error_is_only_for_those_who_may_read_records(env: Environment, window: Window) -> None:
    """It quotes the record; who may not see it learns that the group failed, and why nothing more is shown."""
    fail_group(env.ledger, _read(env, window, 0), BAD)
    stranger = TestClient(make_app(site_of(env, Person(reads=set()))))
    pages = [
        stranger.get(f"/tabs/{place}").text for place in (f"run?{RUN}", f"task?{RUN}&task_id=logs.read&map_index=0")
    ]

    assert all("failed" in page and "quotes records" in page for page in pages)
    assert not any("bad" in page.replace("bad so far", "").replace("<dt>bad", "") for page in pages)


def test_a_run_shows_its_windows(client: TestClient, env: Environment, window: Window) -> None:
    """A window that failed has its reason and what works now, as commands; a published one its numbers."""
    for group in range(2):
        fail_group(env.ledger, _read(env, window, group), BAD)
    failed = client.get(f"/tabs/run?{RUN}").text
    publish(env.ledger, window)
    published = client.get(f"/tabs/run?{RUN}").text

    assert "<code>airflow dags clear load --run-id manual__1</code>" in failed
    assert f'windows/{window.id}#groups">1 other group failed, too<' in failed
    assert f"blockread windows abandon {window.id} --state" in failed
    assert f"blockread windows exclude {window.id} file:///in/a --reason ... --state" in failed
    assert (published.count('<li class="past">'), "What works now" in published) == (4, False)


def test_a_run_without_files_says_since_when(client: TestClient, env: Environment, window: Window) -> None:
    """It says since when nothing is new, not that something is empty."""
    publish(env.ledger, window)
    with claim_window(env.ledger, FEED, "k2", owner="load/manual__2/logs.plan/-1", run="load/manual__2"):
        pass

    assert "Nothing new since 2026-01-01 00:00:00 UTC" in client.get("/tabs/run?dag_id=load&run_id=manual__2").text
    assert "No window of this run" in client.get("/tabs/run?dag_id=load&run_id=manual__3").text


def test_a_dag_shows_its_feeds(client: TestClient, env: Environment, window: Window) -> None:
    """What waits, and thirty days with what was published; the DAG of another feed shows none of it."""
    publish(env.ledger, window)
    record_files(env.ledger, FEED, [version("late", size=2048)], complete=False)
    text = client.get("/tabs/dag?dag_id=load").text

    assert "<dt>waiting</dt><dd>1<small>2.0 kB, oldest" in text
    assert "1 of 1 window published, 9 rows" in text
    assert text.count(': no window"') == 29
    assert "No feed of this DAG" in client.get("/tabs/dag?dag_id=other").text


def test_a_feed_of_two_ledgers_has_a_card_for_each(env: Environment, window: Window) -> None:
    """They are told apart by the names of the ledgers; where there is one ledger, it is not named."""
    publish(env.ledger, window)
    site = site_of(env, Person())
    two = TestClient(make_app(replace(site, ledgers={"new": lambda: env, "old": lambda: env})))
    cards = re.findall('<section class="card" aria-label="([^"]*)"', two.get("/tabs/dag?dag_id=load").text)

    assert cards == ["Feed logs in ledger new", "Feed logs in ledger old"]
    assert "in ledger" not in TestClient(make_app(site)).get("/tabs/dag?dag_id=load").text


def test_the_calendar_has_the_intervals_of_each_day(client: TestClient, env: Environment, window: Window) -> None:
    """Days in weeks, from Monday on, each with its windows, as a bar of their states, and a link to its windows."""
    publish(env.ledger, window)
    freeze_window(env.ledger, replace(plan("k2", files=0), run="load/manual__2"), [])
    close_empty_window(env.ledger, FEED, "k3", owner="me")
    text = client.get("/tabs/dag?dag_id=load").text
    day = text[text.index('<a class="day"') :]
    day = day[: day.index("</a>")]

    assert '<li class="on-3">' in text  # the first of the thirty days, 2025-12-03, is a Wednesday
    assert text.count("<li class=") - text.count('<li class="past') == 1
    assert 'href="/ledgers/main/feeds/1?day=2026-01-01"' in day
    assert 'title="2026-01-01: 1 of 3 windows published, 1 with nothing new, 9 rows' in day
    assert re.findall(r'<rect class="k-(\w+)"[^>]* width="([\d.]+)%"', day) == [
        (state, "33.333") for state in ("planned", "published", "empty")
    ]
    assert client.get("/ledgers/main/feeds/1?day=2026-01-01").text.count("/windows/") >= 3


@pytest.mark.usefixtures("window")
def test_a_dag_asks_as_often_for_many_feeds_as_for_one(client: TestClient, env: Environment) -> None:
    """A page is a fixed number of statements, however many feeds the DAG has."""
    asked: list[str] = []
    with env.ledger.reading() as connection:
        event.listen(connection.engine, "before_cursor_execute", lambda *given: asked.append(given[2]))
    counts = []
    for number in range(4):
        planned = replace(plan("k", files=0, feed=f"more-{number}"), run="load/manual__1", interval_ns=(0, 9))
        freeze_window(env.ledger, planned, [])
        record_files(env.ledger, f"more-{number}", [version("late", mtime_ns=5)], complete=False)
        asked.clear()
        text = client.get("/tabs/dag?dag_id=load").text
        counts.append(len(asked))
        assert text.count("<dt>late files</dt><dd>1") == number + 1

    assert len(set(counts)) == 1, counts


def test_feeds_that_a_visitor_may_not_see_are_not_there(env: Environment, window: Window) -> None:
    """A run's windows and a DAG's feeds are left out, without a trace."""
    stranger = TestClient(make_app(site_of(env, Person(sees=set()))))
    pages = (f"run?{RUN}", f"run/live?{RUN}", "dag?dag_id=load", f"task?{RUN}&task_id=logs.read&map_index=0")

    texts = [stranger.get(f"/tabs/{page}").text for page in pages]

    assert not any(word in text for text in texts for word in (window.id, window.key, "<section"))
