"""The trigger that waits for an application on a cluster: what it fires, keeps alive, and stops."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_blockread.exchange.signs import read_stop
from airflow_provider_blockread.options import FileSource, SparkJob
from airflow_provider_blockread.steps import Waiting
from airflow_provider_blockread.triggers import applications
from airflow_provider_blockread.triggers.applications import ApplicationTrigger
from airflow_provider_blockread.triggers.helpers import MOST
from tests.airflow.deferring.yarn import ResourceManager, resource_manager
from tests.airflow.triggering import children, first
from tests.airflow.triggering import silent as silent  # noqa: PLC0414 - a fixture
from tests.airflow.triggering import trigger as listing
from tests.pipeline.deferred.cluster import Cluster
from tests.pipeline.deferred.task import Task
from tests.pipeline.make import Pipe

pytestmark = pytest.mark.airflow

JOB = SparkJob(conn_id="cluster", heartbeat_s=0.05)


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Task]:
    """A task with a file to read, and a ledger that triggers reach."""
    cluster = Cluster()
    pipe = Pipe(folder=tmp_path, submitter=cluster)
    pipe.put({"a.txt": b"a1\na2\n"})
    url = {"url": f"sqlite:///{tmp_path}/ledger.db"}
    monkeypatch.setenv("AIRFLOW_CONN_LED", json.dumps({"conn_type": "blockread", "extra": url}))
    yield Task(pipe=pipe, cluster=cluster, ref=pipe.plan())
    pipe.close()


@pytest.fixture
def yarn(monkeypatch: pytest.MonkeyPatch) -> Iterator[ResourceManager]:
    """A cluster that can be asked."""
    with resource_manager() as manager:
        extra = {"deploy-mode": "cluster", "yarn_resourcemanager_webapp_address": manager.url}
        fields = {"conn_type": "spark", "host": "yarn", "extra": extra}
        monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(fields))
        yield manager


def trigger(waiting: Waiting) -> ApplicationTrigger:
    """Return a trigger as the triggerer makes it: from its arguments as JSON."""
    made = ApplicationTrigger(waiting=waiting.to_json(), spark=JOB.to_json(), ledger_conn_id="led")
    path, arguments = made.serialize()
    assert path == "airflow_provider_blockread.triggers.applications.ApplicationTrigger"
    return ApplicationTrigger(**json.loads(json.dumps(arguments)))


def fires(waiting: Waiting, *, after: Any = None) -> dict[str, Any]:
    """Return what a trigger fires, where something happens after half a second."""

    async def run() -> Any:
        wait = asyncio.create_task(first(trigger(waiting)))
        await asyncio.sleep(0.5)
        assert not wait.done() or after is None
        if after is not None:
            await asyncio.to_thread(after)
        return await asyncio.wait_for(wait, 60)

    found = dict(asyncio.run(run()))
    assert Waiting.from_json(found.pop("waiting")) == waiting
    return found


def until(found: Callable[[], bool]) -> None:
    """Wait for something."""
    while not found():
        time.sleep(0.05)


def test_it_fires_at_the_end_of_the_application(task: Task, yarn: ResourceManager) -> None:
    """The claim is alive until then, also while the cluster does not answer; the event holds no result."""
    waiting = task.start()
    before = task.group.heartbeat_at

    def work() -> None:
        yarn.down = True
        while task.group.heartbeat_at == before:
            time.sleep(0.05)
        task.cluster.work()

    assert fires(waiting, after=work) == {}
    assert task.finish().records == 2


def test_it_fires_when_the_claim_is_lost(task: Task, yarn: ResourceManager) -> None:
    """The driver is stopped, and the resumed task says that another attempt has taken over."""
    waiting = task.start()
    task.clear_number = 1
    task.start()
    found = fires(waiting)

    assert found["error"] == "FencedError"
    assert read_stop(task.pipe.env.stores, waiting.submission) is not None
    assert yarn.asked == []


@pytest.mark.parametrize(("state", "final"), [("FINISHED", "FAILED"), ("KILLED", "KILLED"), ("FINISHED", "SUCCEEDED")])
def test_it_fires_when_the_application_has_ended_without_a_word(
    task: Task, yarn: ResourceManager, state: str, final: str
) -> None:
    """The cluster is asked too: a driver that never began leaves no file."""
    waiting = task.start()

    def end() -> None:
        yarn.state, yarn.final = state, final

    found = fires(waiting, after=end)
    assert found["error"] == "SparkJobError"
    assert "on its cluster and left neither a result nor an error" in found["message"]


def test_a_cluster_that_hangs_holds_up_nothing(
    task: Task, yarn: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The claim is kept alive, and the end of the application is seen in the work area."""
    monkeypatch.setattr(applications, "_STATUS_S", 0.1)
    yarn.hangs.clear()
    waiting = task.start()
    try:
        assert fires(waiting, after=lambda: work_after_some_polls(task)) == {}
    finally:
        yarn.hangs.set()
    assert task.finish().records == 2


def test_a_triggerer_without_the_provider_of_spark_waits(
    task: Task, yarn: ResourceManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot ask the cluster, and sees the end of the application in the work area."""
    monkeypatch.setitem(sys.modules, "airflow_provider_blockread.hooks.tracked_submit", None)
    waiting = task.start()

    assert fires(waiting, after=lambda: work_after_some_polls(task)) == {}
    assert yarn.asked == []
    assert task.finish().records == 2


def work_after_some_polls(task: Task) -> None:
    """Let the application work to its end, once its trigger has polled it twice."""
    for _ in range(2):
        before = task.group.heartbeat_at
        while task.group.heartbeat_at == before:
            time.sleep(0.05)
    task.cluster.work()


def test_a_person_stops_the_application(task: Task, yarn: ResourceManager) -> None:
    """By a stop file, by the cluster, and in the ledger."""
    waiting = replace(task.start(), application="application_1_0001")
    asyncio.run(trigger(waiting).on_kill())

    assert read_stop(task.pipe.env.stores, waiting.submission) == "the task was cleared or marked"
    assert yarn.asked == ['/ws/v1/cluster/apps/application_1_0001/state {"state": "KILLED"}']
    assert task.group.state == "failed"


def test_a_stop_waits_for_no_listing(task: Task, yarn: ResourceManager, silent: FileSource) -> None:
    """Neither does a claim's heartbeat: within the 30 s that Airflow gives a stop, whatever other triggers do."""
    waiting = replace(task.start(), application="application_1_0001")
    before = task.group.heartbeat_at

    async def kill() -> float:
        listings = [asyncio.create_task(first(listing(silent))) for _ in range(MOST + 1)]
        await asyncio.to_thread(until, lambda: len(children()) == MOST)
        waits = asyncio.create_task(first(trigger(waiting)))
        await asyncio.to_thread(until, lambda: task.group.heartbeat_at != before)
        waits.cancel()
        await asyncio.wait([waits])
        began = time.monotonic()
        await trigger(waiting).on_kill()
        took = time.monotonic() - began
        assert not any(task.done() for task in listings)
        for one in listings:
            one.cancel()
        await asyncio.wait(listings)
        return took

    assert asyncio.run(asyncio.wait_for(kill(), 120)) < 30
    assert read_stop(task.pipe.env.stores, waiting.submission) is not None
    assert yarn.asked
    assert task.group.state == "failed"


def test_a_stop_that_the_ledger_hinders(task: Task, yarn: ResourceManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cluster is asked all the same."""
    waiting = replace(task.start(), application="application_1_0001")
    monkeypatch.delenv("AIRFLOW_CONN_LED")
    asyncio.run(trigger(waiting).on_kill())

    assert yarn.asked


def test_a_stop_goes_on_while_airflow_cancels_it(task: Task, yarn: ResourceManager) -> None:
    """The triggerer cancels a trigger once a second until it has ended, also in the middle of on_kill."""
    waiting = task.start()

    async def kill() -> None:
        killing = asyncio.create_task(trigger(waiting).on_kill())
        for _ in range(20):
            await asyncio.sleep(0.05)
            killing.cancel()
        await asyncio.wait([killing])

    asyncio.run(kill())
    assert read_stop(task.pipe.env.stores, waiting.submission) is not None
    assert yarn.asked
    assert task.group.state == "failed"


def test_a_wrong_connection_ends_the_wait(task: Task, yarn: ResourceManager, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that time does not cure is the task's; it stops the application then."""
    del yarn
    waiting = task.start()
    monkeypatch.delenv("AIRFLOW_CONN_LED")

    assert fires(waiting)["error"] == "OptionsError"
