"""The trigger as the triggerer runs it: beside others on one event loop, cancelled, and rebuilt from its arguments."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.triggers import new_files
from airflow_provider_blockread.triggers.new_files import NewFilesTrigger
from tests.airflow.triggering import FILES, GAP_S, busy, children, first, longest_gap, trigger
from tests.airflow.triggering import large as large  # noqa: PLC0414 - a fixture
from tests.airflow.triggering import silent as silent  # noqa: PLC0414 - a fixture

pytestmark = pytest.mark.airflow


def gap_while(*sources: FileSource) -> tuple[float, list[Any]]:
    """Return the longest gap while triggers look at sources, and what they fire."""

    async def together() -> tuple[float, list[Any]]:
        await trigger(FileSource("/nowhere")).poll()  # what is imported once is not what is measured
        both = asyncio.ensure_future(asyncio.gather(*(first(trigger(source)) for source in sources)))
        return await longest_gap(both), both.result()

    return asyncio.run(together())


def test_a_large_tree_does_not_hold_up_the_loop(large: Path) -> None:
    """While two triggers list it side by side, everything else on the loop continues."""
    gaps = []
    while len(gaps) < 3 and min(gaps, default=GAP_S) >= GAP_S:  # a busy host adds gaps of its own
        gap, found = gap_while(FileSource(str(large)), FileSource(str(large)))
        assert [event["files"] for event in found] == [FILES] * 2
        gaps.append(gap)

    assert min(gaps) < GAP_S


def test_a_silent_store_holds_up_nothing_and_a_cancelled_trigger_ends_at_once(silent: FileSource) -> None:
    """Others are served meanwhile; the helper ends with its trigger, and shows no secret to who lists processes."""

    async def cancelled() -> tuple[float, float]:
        task = asyncio.ensure_future(first(trigger(silent)))
        await busy()
        gap = await longest_gap(asyncio.ensure_future(trigger(FileSource("/nowhere")).poll()))
        assert not task.done()
        helpers = children()
        assert not any("s3cret" in text for child in helpers for text in (*child.cmdline(), *child.environ()))
        began = time.monotonic()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        took = time.monotonic() - began
        gone, _ = await asyncio.to_thread(psutil.wait_procs, helpers, 20)
        assert gone
        return gap, took

    gap, took = asyncio.run(cancelled())
    assert gap < GAP_S
    assert took < 1.0


def test_a_helper_that_is_killed_is_an_error_that_may_pass(silent: FileSource) -> None:
    """The wait ends with it, as a look on a worker would, and the next trigger gets a new helper."""

    async def killed() -> Any:
        task = asyncio.ensure_future(first(trigger(silent)))
        await busy()
        await trigger(FileSource("/nowhere")).poll()
        for child in children():
            child.kill()
        return await task

    assert asyncio.run(killed())["error"] == "TransientError"


def test_errors_that_stay_fire_though_failures_are_silent(tmp_path: Path) -> None:
    """A missing connection, and a root that is no folder's, end the wait by name."""
    missing = FileSource("s3://bucket/in", conn_id="not_there")
    event = asyncio.run(first(trigger(missing, silent_fail=True)))
    assert (event["error"], "there is no connection 'not_there'" in event["message"]) == ("OptionsError", True)

    event = asyncio.run(first(trigger(FileSource(str(tmp_path), pattern="[z-a]"), silent_fail=True)))
    assert event["error"] == "OptionsError"


def test_a_wait_that_grows_ends_with_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interval doubles, but not beyond the end of the wait, which is the same after a restart."""
    clock, looks = [1000.0], list[float]()

    async def sleep(seconds: float) -> None:
        clock[0] += seconds

    async def poll(_: NewFilesTrigger) -> dict[str, Any]:
        looks.append(clock[0] - 1000)
        return {"why": "enough" if clock[0] >= 4600 else ""}

    monkeypatch.setattr(new_files, "timezone", SimpleNamespace(utcnow=lambda: datetime.fromtimestamp(clock[0], UTC)))
    monkeypatch.setattr(new_files, "asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(NewFilesTrigger, "poll", poll)
    asyncio.run(first(trigger(FileSource("/x"), poke_interval=60, backoff={"longest": 3600, "until": 4600})))

    assert looks == [60, 180, 420, 900, 1860, 3540, 3600]


def test_arguments_hold_names_of_connections_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Airflow stores of a trigger, and shows of it, has no credentials."""
    monkeypatch.setenv("AIRFLOW_CONN_STORE", json.dumps({"conn_type": "aws", "login": "me", "password": "s3cret"}))
    one = trigger(FileSource("s3://bucket/in", conn_id="store"), ledger_conn_id="ledger")

    assert "s3cret" not in f"{one.serialize()} {one!r}"
    assert "'conn_id': 'store'" in repr(one)
