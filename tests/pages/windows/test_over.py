"""Pages of windows whose output was replaced or removed, or whose detail is gone: they say so, and offer what works."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_blockread.ledger.windows.generations import latest_generation, start_generation
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.steps.running import WindowRunner
from airflow_provider_blockread.steps.upkeep.pruning import PruneRequest, prune
from airflow_provider_blockread.steps.upkeep.rebuilding import RebuildRequest, WindowRange, rebuild
from airflow_provider_blockread.steps.upkeep.withdrawing import abandon, undo
from tests.ledger.make import ref
from tests.pages.lake import Lake, filled_lake

DAY = 86_400.0
RUN = "dag_id=clicks&run_id=scheduled__1"


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """A published window of two files, one of them with a bad record, a minute old."""
    with filled_lake(tmp_path) as made:
        made.pipe.pass_seconds(60)
        yield made


def said(lake: Lake, page: str) -> str:
    """Return what a person reads on a page, in one line."""
    text = lake.client.get(page).text
    shown = re.sub(r"<(script|style|title)\b.*?</\1>|</time>", "", text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", shown)).split())


def steps(lake: Lake, page: str) -> list[tuple[str, str, str]]:
    """Return the stages of a window: kind, title and what is below it."""
    found = re.findall(r'<li class="([\w-]+)"[^>]*><b>([^<]*)</b>(.*?)</li>', lake.client.get(page).text)
    return [(kind, title, " ".join(re.sub(r"<[^>]*>", " ", rest).split())) for kind, title, rest in found]


def offered(lake: Lake, page: str) -> set[str]:
    """Return the actions that a page offers."""
    return set(re.findall(r"/actions/(\w+)", lake.client.get(page).text))


def _prune(lake: Lake, *, keep_manifests: bool = False) -> None:
    lake.pipe.pass_seconds(2 * DAY)
    prune(lake.pipe.env, PruneRequest(older_than=DAY, keep=0, keep_manifests=keep_manifests))


def _window(lake: Lake) -> str:
    return lake.window("first").rpartition("/")[2]


def _rebuild(lake: Lake) -> None:
    pipe = lake.pipe
    pipe.pass_seconds(60)
    lake.pipe.with_policies(on_bad_record="quarantine")
    runner = WindowRunner(env=pipe.env, owner="me", job=pipe.job, submitter=pipe.submitter)
    rebuild(pipe.env, RebuildRequest(range=WindowRange(window=_window(lake))), runner)


@pytest.mark.parametrize(
    ("files", "fate"),
    [("pending", "its files went back to the feed"), ("excluded", "its files are excluded from the feed")],
)
def test_a_withdrawn_window_says_what_became_of_it(lake: Lake, files: str, fate: str) -> None:
    """By whom, when, and where its files are; its output and quarantine are not looked for."""
    page, pipe = lake.window("first"), lake.pipe
    undo(pipe.env, get_window(pipe.env.ledger, _window(lake)), files=files, who="ann")
    pipe.pass_seconds(180)
    text, found = said(lake, page), steps(lake, page)

    assert f"abandoned Withdrawn by ann 3 min ago: what it had published is removed, and {fate}" in text
    assert [(kind, title) for kind, title, _ in found] == [
        *(("past", title) for title in ("planned", "scanned", "read", "proven", "published")),
        ("wrong", "withdrawn ✕"),
    ]
    assert "later" in found[-1][2]
    assert "Outputs" not in text
    assert "quarantine" not in text
    assert "101 rows written." in text
    assert "footers" not in text
    assert "withdrawn</b>" in lake.client.get(f"/tabs/run?{RUN}").text


def test_a_window_that_was_given_up_has_nothing_to_come(lake: Lake) -> None:
    """Its files go back, and it stops where it was."""
    page, pipe = lake.window("second <script>"), lake.pipe
    abandon(pipe.env, get_window(pipe.env.ledger, page.rpartition("/")[2]), who="ann")
    text = said(lake, page)

    assert "Withdrawn by ann just now: its files went back to the feed, for a later window." in text
    assert [title for _, title, _ in steps(lake, page)] == ["planned", "withdrawn ✕"]
    assert "yet" not in text
    assert "to come" not in text


def test_a_pruned_window_offers_what_works(lake: Lake) -> None:
    """Without its plan it can only be removed, and its files stay excluded; what it did is told as its proof has it."""
    page = lake.window("first")
    before = offered(lake, page)
    _prune(lake)
    text, run = said(lake, page), said(lake, f"/tabs/run?{RUN}")
    verify = lake.client.get(f"{page}/actions/verify").text
    live = lake.client.get(f"{page}/live").json()

    assert before == {"rebuild", "reprocess", "verify", "undo"}
    assert offered(lake, page) == {"undo"}
    assert "Its detail was pruned just now, and its plan with it: it cannot be read again." in text
    assert f"blockread windows undo {_window(lake)} --files excluded" in text
    assert "the source files are not read again" in text
    assert "Read 2 files" not in text
    assert "to come" not in text
    assert "yet" not in text
    assert ("past", "read", "done") in steps(lake, page)
    assert [live[f"{name}_done"] for name in ("groups", "blocks", "bytes", "records")] == [4, 21, 806, 102]
    assert "records 102" in run
    assert "0 of" not in run.partition("second")[0]
    assert "left alone, since it was pruned on 2026-01-03 and its plan is gone" in verify
    assert "In a shell" not in verify
    assert "<button" not in verify.partition('class="action"')[2]


def test_a_pruned_window_that_keeps_its_plan_is_read_again(lake: Lake) -> None:
    """Its actions are those of another published window, except that its files do not return."""
    page = lake.window("first")
    _prune(lake, keep_manifests=True)

    assert offered(lake, page) == {"rebuild", "reprocess", "verify", "undo"}
    assert "cannot be read again" not in said(lake, page)
    assert "as generation 2; nothing is written" in said(lake, f"{page}/actions/verify")


def test_a_window_withdrawn_and_pruned_counts_no_output(lake: Lake) -> None:
    """Its proof says what was written, and nothing of files that are gone."""
    undo(lake.pipe.env, get_window(lake.pipe.env.ledger, _window(lake)), who="ann")
    _prune(lake)
    text = said(lake, lake.window("first"))

    assert "101 rows written." in text
    assert "count 0 rows" not in text
    assert offered(lake, lake.window("first")) == set()


def test_a_rebuild_that_was_given_up_leaves_the_page_as_it_was(lake: Lake) -> None:
    """Groups, stages and times are those of what is published; it has a page of its own."""
    page, pipe = lake.window("first"), lake.pipe
    before, tab = (steps(lake, page), lake.client.get(page).text), lake.client.get(f"/tabs/run?{RUN}").text
    window = get_window(pipe.env.ledger, _window(lake))
    options = latest_generation(pipe.env.ledger, window.id).options
    start_generation(pipe.env.ledger, window.id, options=options, mode="write", clear_number=1)
    claim_group(pipe.env.ledger, ref(window, 0, 2), owner="me", clear_number=1, stale_after_s=60)
    at_work = said(lake, page)
    abandon(pipe.env, window, who="ann")
    text, other = lake.client.get(page).text, said(lake, f"{page}?generation=2")

    assert "reading Generation 1 stays published." in at_work
    assert steps(lake, page) == before[0]
    assert _groups(text) == _groups(before[1])
    assert "not read yet" not in text
    assert lake.client.get(f"/tabs/run?{RUN}").text == tab
    assert "Generation 2, which is shown here, was given up by ann and published nothing." in other
    assert "not read Groups" not in other
    assert [title for _, title, _ in steps(lake, f"{page}?generation=2")] == ["planned", "scanned"]


def test_a_generation_that_was_replaced_is_told_as_such(lake: Lake) -> None:
    """Its page has its own groups, stages and proof, and no output that is there no more."""
    page = lake.window("first")
    before = _groups(lake.client.get(page).text)
    old = steps(lake, page)
    _rebuild(lake)
    lake.pipe.pass_seconds(16)
    text, new = said(lake, f"{page}?generation=1"), said(lake, page)

    assert "published 16 s ago as generation 2." in new
    assert "Generation 1, which is shown here, was replaced by generation 2, and so was its output." in text
    assert _groups(lake.client.get(f"{page}?generation=1").text) == before
    assert steps(lake, f"{page}?generation=1") == old
    assert "Outputs" in new
    assert "Outputs" not in text
    assert "count 101 rows in their own footers" in new
    assert "footers" not in text
    assert "1 bad record kept" in new
    assert "quarantine" not in text


def _groups(text: str) -> list[str]:
    """Return the rows of the list of groups."""
    return re.findall(r'<tr id="group-.*?</tr>', text, flags=re.DOTALL)
