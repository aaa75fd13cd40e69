"""The event trigger on an event loop of the test's own: who lists, what a cursor is worth, and what a kill repeats."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, suppress
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.triggers.shared_stream import SharedStreamManager

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.queues import Message
from airflow_provider_blockread.options import FileSource, StorageEvents
from airflow_provider_blockread.triggers import watching
from airflow_provider_blockread.triggers.new_files_events import NewFilesEventTrigger
from tests.airflow.triggering import FILES, GAP_S, large, longest_gap
from tests.ledgers import open_ledger

pytestmark = pytest.mark.airflow
__all__ = ["large"]

PATIENCE_S = 120.0


class State(dict[str, Any]):
    """An asset's state store."""

    async def aget(self, key: str) -> Any:
        """Return what is kept."""
        return self.get(key)

    async def aset(self, key: str, value: Any) -> None:
        """Keep it."""
        self[key] = value


@pytest.fixture
def use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """What makes the connection `ledger` name another ledger, made where it is not there, and returns its file."""

    def name(file: str) -> Path:
        url = f"sqlite:///{tmp_path}/{file}.db"
        ledger = open_ledger(url)
        ledger.close()
        monkeypatch.setenv("AIRFLOW_CONN_LEDGER", json.dumps({"conn_type": "blockread", "extra": {"url": url}}))
        return tmp_path / f"{file}.db"

    return name


def watcher(feed: str, landing: Path, state: State | None = None, **options: Any) -> NewFilesEventTrigger:
    """Return a trigger, as the triggerer makes it, whose asset keeps this state."""
    given = {"source": FileSource(str(landing)), "feed": feed, "listing": 0.5, "ledger_conn_id": "ledger"} | options
    made = NewFilesEventTrigger(**json.loads(json.dumps(NewFilesEventTrigger(**given).serialize()[1])))
    made.asset_state_store = SimpleNamespace(_by_name={} if state is None else {"x": state}, _by_uri={})  # type: ignore[assignment]
    return made


def reported(trigger: NewFilesEventTrigger, *, stored: bool) -> list[str]:
    """Return the names of the first event's files; the triggerer dies at once then, or when its cursor is kept."""

    async def run() -> list[str]:
        async with aclosing(trigger.run()) as fired:
            payload = (await asyncio.wait_for(anext(fired), PATIENCE_S)).payload
            if stored:
                with suppress(TimeoutError):  # nothing more is reported
                    await asyncio.wait_for(anext(fired), 3.0)
        return [Path(path).stem for path in payload["paths"]]

    return asyncio.run(run())


def test_a_triggerer_that_dies_before_its_cursor_is_kept_tells_again(
    dag_id: str, landing: Path, land: Callable[..., None], use: Callable[[str], Path]
) -> None:
    """The last event is repeated, and with it what has landed since; nothing is left out."""
    use("ledger")
    state = State()
    land(a=1)
    assert reported(watcher(dag_id, landing, state), stored=False) == ["a"]
    assert not any(state.values())
    land(b=1)
    assert reported(watcher(dag_id, landing, state), stored=True) == ["a", "b"]
    land(c=1)
    assert reported(watcher(dag_id, landing, state), stored=True) == ["c"]


def test_a_watch_goes_on_with_a_ledger_that_was_made_anew(
    dag_id: str, landing: Path, land: Callable[..., None], use: Callable[[str], Path]
) -> None:
    """A cursor is worth nothing in another ledger, nor beyond what one knows that was put back from a backup."""
    file = use("one")
    state = State()
    land(a=1, b=1)
    assert reported(watcher(dag_id, landing, state), stored=True) == ["a", "b"]
    backup = file.read_bytes()
    land(c=1, d=1)
    assert reported(watcher(dag_id, landing, state), stored=True) == ["c", "d"]

    use("two")
    assert reported(watcher(dag_id, landing, state), stored=True) == ["a", "b", "c", "d"]

    use("one").write_bytes(backup)
    for path in landing.iterdir():
        path.unlink()
    land(e=1)
    assert reported(watcher(dag_id, landing, state), stored=True) == ["e"]


def test_watchers_of_a_source_share_one_listing(
    dag_id: str, landing: Path, land: Callable[..., None], use: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, and whatever each of them reports."""
    use("ledger")
    land(a=1, b=1, c=1)
    asked, ask = list[str](), watching.ask

    async def counted(request: dict[str, Any], log: Callable[[str], None]) -> dict[str, Any]:
        asked.append(request["do"])
        return await ask(request, log)

    monkeypatch.setattr(watching, "ask", counted)

    async def first(stream: AsyncIterator[Any]) -> list[str]:
        payload = (await asyncio.wait_for(anext(stream), PATIENCE_S)).payload
        return [Path(path).stem for path in payload["paths"]]

    async def together() -> list[list[str]]:
        manager, streams = SharedStreamManager(), []
        for number, only in enumerate([None, "a*", "[bc]*", None]):
            trigger = watcher(dag_id, landing, only=only, listing=3600.0)
            shared = manager.subscribe(trigger_id=number, trigger=trigger, key=trigger.shared_stream_key())
            streams.append(trigger.filter_shared_stream(shared))
        try:
            return await asyncio.gather(*map(first, streams))
        finally:
            await manager.stop_all()

    assert asyncio.run(together()) == [["a", "b", "c"], ["a"], ["b", "c"], ["a", "b", "c"]]
    assert asked == ["list"]


class SlowQueue:
    """A queue whose client blocks its caller."""

    def __init__(self, url: str, connection: Any) -> None:
        self.url, self.connection = url, connection

    def receive(self) -> list[Message]:
        """Wait, and return a message that says nothing."""
        time.sleep(1.0)
        return [Message(body="{}", receipt="1")]

    def done(self, messages: list[Message]) -> None:
        """Take as long."""
        time.sleep(float(len(messages)))


@pytest.mark.parametrize("queued", [False, True])
def test_a_watch_does_not_hold_up_the_loop(
    dag_id: str, large: Path, use: Callable[[str], Path], *, queued: bool
) -> None:
    """While it lists and records a large tree, or its queue's client waits, everything else on the loop continues."""
    use("ledger")
    events = StorageEvents("slow", queue_class=f"{SlowQueue.__module__}.SlowQueue", reconcile=3600.0)

    async def watched(number: int) -> float:
        async def listen() -> None:
            trigger = watcher(f"{dag_id}_{number}", large, listing=events if queued else 3600.0)
            async with aclosing(trigger.run()) as fired:
                assert (await anext(fired)).payload["files"] == FILES
                with suppress(TimeoutError):  # the queue is asked some times
                    await asyncio.wait_for(anext(fired), 5.0 if queued else 0.1)

        task = asyncio.ensure_future(listen())
        gap = await longest_gap(task)
        task.result()
        return gap

    gaps = []
    while len(gaps) < 3 and min(gaps, default=GAP_S) >= GAP_S:  # a busy host adds gaps of its own
        gaps.append(asyncio.run(watched(len(gaps))))
    assert min(gaps) < GAP_S


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"listing": 0}, "listing must be seconds above 0"),
        ({"listing": timedelta(minutes=1)}, "listing must be seconds above 0"),
        ({"feed": " "}, "feed must be the name that the pipeline has"),
        ({"feed": None}, "feed must be the name that the pipeline has"),
        ({"source": FileSource("/in/{{ ds }}")}, "its options must not be templates"),
        ({"feed": "{{ dag.dag_id }}.logs"}, "its options must not be templates"),
    ],
)
def test_a_watcher_that_would_watch_nothing_is_refused(options: dict[str, Any], message: str) -> None:
    """Where the DAG is parsed: the trigger belongs to no run, and has nobody to tell."""
    with pytest.raises(OptionsError, match=message):
        NewFilesEventTrigger(**{"source": FileSource("/in"), "feed": "shop.logs", **options})
