"""Readers that follow the backlog, over a real ledger: measured, chosen, frozen with the plan."""

from __future__ import annotations

import json
from dataclasses import replace
from statistics import median_low

import pytest

from airflow_provider_blockread.blocks.readers import DEFAULT_RATE
from airflow_provider_blockread.exchange.results import read_result
from airflow_provider_blockread.ledger.schema import tables
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.ledger.windows.rates import TINY, reader_rates
from airflow_provider_blockread.options import Splitting
from airflow_provider_blockread.steps import WindowRef, plan
from airflow_provider_blockread.steps.plan.preview import Preview, preview
from tests.pipeline.make import Pipe

_LARGE = b"x" * 1023 + b"\n"
_SECONDS = 1 / 60  # in minutes


def _plan(here: Pipe, key: str, **splitting: float | None) -> WindowRef:
    return plan(here.env, replace(here.request(key), splitting=Splitting(**splitting)))  # type: ignore[arg-type]


def _preview(here: Pipe, key: str, **splitting: float | None) -> Preview:
    return preview(here.env, replace(here.request(key), splitting=Splitting(**splitting)))  # type: ignore[arg-type]


def _readers_given(here: Pipe) -> list[int | None]:
    """Return how many readers each job was given, in the order of groups."""
    return [json.loads(file.read_text())["readers"] for file in here.attempt_files("job.json")]


def test_the_first_window_goes_by_the_default_rate(here: Pipe) -> None:
    """Ten times what a reader reads in the target needs ten readers; the plan's log and the ledger say so."""
    here.put({"a.txt": b"x" * (10 * DEFAULT_RATE // 100)})
    ref = _plan(here, "w", target_minutes=_SECONDS / 100, block_size=2**16)

    assert get_window(here.env.ledger, ref.window).readers == 10
    assert "10 readers: 3.2 MB at 32.0 MB/s each (default; no window measured yet) take 0.0 s of 0.0 s" in ref.message


@pytest.mark.slow
def test_later_windows_go_by_what_was_measured(here: Pipe) -> None:
    """Each window that is read adds its rate; the choice takes their median, and tiny ones count for nothing."""
    choices, measured = [], []
    for number, size in enumerate([TINY, 100, 2 * TINY, TINY]):
        here.put({f"{number}.txt": _LARGE * (size // 1024 + 1)})
        here.run(str(number))
        measured.append(reader_rates(here.env.ledger, here.feed))
        here.put({"next.txt": b"next\n"})
        choices.append(_preview(here, "next", target_minutes=1.0).choice)

    assert [len(rates) for rates in measured] == [1, 1, 2, 3]
    assert [choice.windows for choice in choices if choice] == [1, 1, 2, 3]
    assert [choice.rate for choice in choices if choice] == [median_low(rates) for rates in measured]


def test_a_rate_is_bytes_by_the_seconds_of_tasks(here: Pipe) -> None:
    """What the driver measured of its tasks is in the result, in the ledger, and makes the rate."""
    here.put({"a.txt": _LARGE * (TINY // 1024)})
    ref = here.plan()
    here.read(ref)
    (group,) = list_groups(here.env.ledger, ref.window, 1)
    assert group.result_uri is not None
    assert group.result_hash is not None
    result = read_result(here.env.stores, group.result_uri, group.result_hash)

    assert 0 < result.reader_seconds <= result.seconds  # one task after another
    assert reader_rates(here.env.ledger, here.feed) == [int(TINY / result.reader_seconds)]


@pytest.mark.slow
def test_a_job_is_cut_by_the_rate_that_was_learnt(here: Pipe) -> None:
    """Where reading was slow, opening files counts for little, and tasks get files by their bytes."""
    here.put({"first.txt": _LARGE * (TINY // 1024)})
    here.run("first")
    slow = tables.groups.update().values(reader_seconds=TINY / 1e6)
    with here.env.ledger.writing() as connection:
        connection.execute(slow)
    here.put({f"{number:03d}.txt": b"x" * (9 if number < 60 else 4999) + b"\n" for number in range(120)})
    ref = here.plan("second")
    here.submitter.cores = 2
    here.read(ref)
    (group,) = list_groups(here.env.ledger, ref.window, 1)
    assert group.result_uri is not None
    assert group.result_hash is not None
    files = read_result(here.env.stores, group.result_uri, group.result_hash).outputs

    assert sorted(file.rows for file in files) == [30, 90]


def test_no_more_groups_than_readers(here: Pipe) -> None:
    """Groups share the readers, each has one, and scan and read get their numbers."""
    here.put({f"{number}.txt": b"x" * 99 + b"\n" for number in range(10)})
    ref = _plan(here, "w", max_readers=4, group_bytes=100)

    assert ref.groups == 4
    here.read(ref)
    assert _readers_given(here) == [1, 1, 1, 1]


def test_groups_share_the_readers(here: Pipe) -> None:
    """Seven readers of three groups: three, two and two."""
    here.put({f"{number}.txt": b"x" * 99 + b"\n" for number in range(3)})
    here.read(_plan(here, "w", max_readers=7, group_bytes=100))

    assert _readers_given(here) == [3, 2, 2]


@pytest.mark.slow
def test_a_retry_keeps_readers_and_manifest(here: Pipe) -> None:
    """When a window is planned again, the feed may be measured, and files may wait: its readers and plan stay."""
    here.put({"a.txt": _LARGE * (4 * TINY // 1024)})
    goal = {"target_minutes": 4 * TINY / DEFAULT_RATE / 2.9 / 60, "block_size": 2**20, "group_bytes": 2**20}
    first = _plan(here, "w", **goal)
    before = get_window(here.env.ledger, first.window)
    here.read(first, groups=[0])
    assert reader_rates(here.env.ledger, here.feed)
    here.put({"b.txt": _LARGE})
    (here.folder / before.manifest_uri.removeprefix("file://")).unlink()
    again = _plan(here, "w", **goal)

    assert (first.groups, before.readers) == (3, 3)
    assert get_window(here.env.ledger, again.window) == before
    assert any("written again, byte for byte the same" in message for message in here.messages)
    here.read(again)
    assert here.commit(again).records == 4 * TINY // 1024


@pytest.mark.parametrize(("splitting", "readers"), [({}, None), ({"max_readers": 5}, 5)])
def test_without_a_target_nothing_is_chosen(here: Pipe, splitting: dict[str, int], readers: int | None) -> None:
    """As many tasks as there are cores, or no more than the limit."""
    here.put({"a.txt": b"one\ntwo\n"})
    shown = _preview(here, "w", **splitting)
    ref = _plan(here, "w", **splitting)

    assert (shown.choice, shown.readers) == (None, readers)
    assert get_window(here.env.ledger, ref.window).readers == readers
