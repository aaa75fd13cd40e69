"""Triggers in an event loop of a test: their first event, their helpers, and the longest pause of the loop."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps.watch.new_files import NewFilesQuery
from airflow_provider_blockread.triggers.new_files import NewFilesTrigger

FILES = 40_000


GAP_S = 0.2


def trigger(source: FileSource, **options: Any) -> NewFilesTrigger:
    """Return a trigger as the triggerer makes it: from its arguments as JSON."""
    query = NewFilesQuery(feed="feed", source=source).to_json()
    path, arguments = NewFilesTrigger(query=query, **{"poke_interval": 0.01} | options).serialize()
    assert path == "airflow_provider_blockread.triggers.new_files.NewFilesTrigger"
    return NewFilesTrigger(**json.loads(json.dumps(arguments)))


async def first(one: NewFilesTrigger) -> Any:
    """Return what a trigger fires."""
    try:
        async for event in one.run():
            return event.payload
    finally:
        await one.cleanup()
    return None


async def longest_gap(task: asyncio.Task[Any]) -> float:
    """Return how long the event loop let another coroutine wait, at most, until the task is done."""
    worst, last = 0.0, time.monotonic()
    while not task.done():
        await asyncio.sleep(0.005)
        now = time.monotonic()
        worst, last = max(worst, now - last), now
    return worst


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A tree of many files."""
    for number in range(40):
        folder = tmp_path / "large" / f"{number:02}"
        folder.mkdir(parents=True)
        for name in range(FILES // 40):
            (folder / f"part-{name:08}.log").touch()
    return tmp_path / "large"


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileSource]:
    """A source in a store that takes requests and never answers."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(50)
        store = {"endpoint_url": f"http://127.0.0.1:{listener.getsockname()[1]}"}
        connection = {"conn_type": "aws", "login": "me", "password": "s3cret", "extra": store}
        monkeypatch.setenv("AIRFLOW_CONN_SILENT", json.dumps(connection))
        yield FileSource("s3://bucket/in", conn_id="silent")


def children() -> list[psutil.Process]:
    """Return the helpers of this process."""
    return [child for child in psutil.Process().children() if "steps.watch.serving" in " ".join(child.cmdline())]


async def busy() -> list[psutil.Process]:
    """Wait for a trigger to have its helper, which it asks for once its connection is looked up, and return it."""

    def wait() -> list[psutil.Process]:
        while not (found := children()):
            time.sleep(0.05)
        return found

    return await asyncio.to_thread(wait)
