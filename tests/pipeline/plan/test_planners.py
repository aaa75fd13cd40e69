"""Planners of one feed: one after the other, and what one holds that fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.ledger.windows.planning import Planner, claim_window
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.options import FileSource, Splitting
from airflow_provider_blockread.steps import plan
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.steps.plan import taking
from airflow_provider_blockread.steps.plan.discovering import discover
from airflow_provider_blockread.steps.plan.taking import Taken
from tests.pipeline.make import Pipe

FILES = {f"{n:04}": b"x" * (n + 1) for n in range(30)}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of four files."""
    monkeypatch.setattr(taking, "BATCH_FILES", 4)


def _claimed(pipe: Pipe, key: str) -> Planner:
    return claim_window(pipe.env.ledger, pipe.feed, key, owner="other")


def test_a_planner_waits_for_the_one_before(here: Pipe) -> None:
    """It says for whom, and plans what is left when that one is done."""
    here.put(FILES)
    discover(here.env, here.request("w"))
    logged, waits = [], threading.Event()

    def log(text: str) -> None:
        logged.append(text)
        if "waiting for it" in text:
            waits.set()

    with ThreadPoolExecutor(1) as pool, _claimed(here, "first"):
        ref = pool.submit(plan, replace(here.env, observer=LogObserver(log)), here.request("w"))
        assert waits.wait(60)
        assert not ref.done()
        # Left here: the first one is empty, and all files are the second one's.
    assert ref.result(60).files == len(FILES)
    assert any("other is planning window 'first'" in text for text in logged)


@pytest.mark.parametrize("meanwhile", [plan, discover])
def test_plans_of_other_files_of_the_feed_at_once(
    here: Pipe, meanwhile: Callable[[Environment, PlanRequest], object]
) -> None:
    """As of runs whose pattern names their day: none misses its own files, and none takes those of another."""
    here.put({"a1": b"1", "a2": b"2", "b1": b"3"})
    first, second = (
        replace(here.request(name), source=FileSource(str(here.source), pattern=f"{name}*")) for name in "ab"
    )

    def log(text: str) -> None:
        if "seen" in text:
            meanwhile(here.env, second)

    ref = plan(replace(here.env, observer=LogObserver(log)), first)

    assert (ref.files, plan(here.env, second).files) == (2, 1)


@pytest.mark.usefixtures("small")
def test_files_are_taken_while_they_are_chosen(here: Pipe) -> None:
    """When the last block is made, all files but the last few batches are the planner's."""
    here.put(FILES)
    request = here.request("w")
    discover(here.env, request)
    counts = []

    def make(blocks: Iterator[Block]) -> int:
        number = 0
        for _ in blocks:
            counts.append(feed_counts(here.env.ledger, here.feed).get("planned", 0))
            number += 1
        return number

    with _claimed(here, "w") as planner:
        assert Taken(here.env, request, planner).plan(make) == len(FILES)
        assert feed_counts(here.env.ledger, here.feed) == {"planned": len(FILES)}

    assert counts[0] >= 4
    assert feed_counts(here.env.ledger, here.feed) == {"pending": len(FILES)}


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("at", [0, 5, 17, 29])
def test_a_plan_that_fails_holds_nothing(here: Pipe, at: int) -> None:
    """Wherever it fails, no batch is taken behind its back when it has given everything back."""
    here.put(FILES)
    request = here.request("w")
    discover(here.env, request)

    def make(blocks: Iterator[Block]) -> None:
        for number, _ in enumerate(blocks):
            if number == at:
                raise MemoryError

    with pytest.raises(MemoryError), _claimed(here, "w") as planner:
        Taken(here.env, request, planner).plan(make)

    assert feed_counts(here.env.ledger, here.feed) == {"pending": len(FILES)}
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("blockread-ledger")]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_a_second_pass_finds_what_the_first_has_taken(here: Pipe, order: str) -> None:
    """Where larger groups are needed, the same files come in the same order, though they wait no longer."""
    here.put(FILES)
    request = replace(here.request("w"), splitting=Splitting(block_size=7, group_bytes=1, max_groups=3))
    request = replace(request, selection=replace(request.selection, order=order))
    discover(here.env, request)
    passes: list[list[Block]] = []

    def make(blocks: Iterator[Block]) -> None:
        passes.append(list(blocks))

    with _claimed(here, "w") as planner:
        Taken(here.env, request, planner).plan(make)

    first, second = passes
    assert [(block.file, block.start, block.end) for block in first] == [
        (block.file, block.start, block.end) for block in second
    ]
    assert len({block.group for block in second}) <= 3
