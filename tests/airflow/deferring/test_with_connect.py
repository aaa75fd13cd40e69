"""Deferred reads on a Spark Connect server, driven by a helper of the triggerer that may be stopped or killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.sdk import DAG
from airflow.sdk.exceptions import TaskDeferralTimeout

from airflow_provider_blockread.operators.read_blocks import ReadBlocksOperator
from airflow_provider_blockread.options import Csv, DataFrameFunction, FileSource, ParquetSink, Splitting
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.deferring.connected import JOB, Deferred, helpers
from tests.airflow.deferring.resuming import TIMEOUT, resume
from tests.airflow.metrics import kept_metrics
from tests.airflow.published import SUCCESS, lines, values
from tests.airflow.triggering import first
from tests.spark.engines.server import ConnectServer, connect_server
from tests.system.processes import cmdline

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A server."""
    with connect_server(tmp_path_factory.mktemp("connect")) as running:
        yield running


@pytest.fixture(autouse=True)
def connection(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection to it, with its token."""
    fields = {"conn_type": "spark_connect", "host": "localhost", "port": server.port, "password": server.token}
    monkeypatch.setenv("AIRFLOW_CONN_CONNECT", json.dumps(fields))


def test_a_deferred_read_on_a_server(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """A helper reads the group for the task, and the token is in no argument of it."""
    land(a=100)
    with DAG(dag_id) as dag:
        source, sink = FileSource(str(landing)), ParquetSink(str(tmp_path / "lake"))
        BlockReadTaskGroup("logs", source=source, sink=sink, spark=JOB, deferrable=True)
    with kept_metrics() as metrics:
        run = runs.start(dag)

    assert runs.states(run) == SUCCESS
    assert values(tmp_path / "lake") == lines(a=100)
    assert runs.xcom(run, "logs.read", map_index=0) == {"records": 100, "bad_records": 0}
    assert metrics.found["read.records"] == metrics.found["commit.records"] == 100
    assert metrics.found["read.time"] > 0
    assert {name for name in metrics.found if name.startswith("read.")} == {
        f"read.{name}" for name in ("records", "bad_records", "bytes", "time", "retries")
    }


def test_a_deferred_read_with_a_dataframe_function(
    runs: Any, dag_id: str, landing: Path, land: Callable[..., None], tmp_path: Path
) -> None:
    """The helper imports the function from the job's modules, which are on no path of its own."""
    land(a=100)
    with DAG(dag_id) as dag:
        source, sink = FileSource(str(landing)), ParquetSink(str(tmp_path / "lake"))
        function = DataFrameFunction("user_frames:identity")
        BlockReadTaskGroup("logs", source=source, sink=sink, function=function, spark=JOB, deferrable=True)
    run = runs.start(dag)

    assert runs.states(run) == SUCCESS
    assert values(tmp_path / "lake") == lines(a=100)


def test_a_deferred_scan(runs: Any, dag_id: str, landing: Path, tmp_path: Path) -> None:
    """The states of a file that spans groups are found by a helper; then each group is read by one."""
    landing.mkdir(exist_ok=True)
    text = "".join(f'{n},"quoted\n{n}"\n' for n in range(40))
    (landing / "a.csv").write_text(text, "utf-8")
    with DAG(dag_id) as dag:
        BlockReadTaskGroup(
            "logs",
            source=FileSource(str(landing)),
            record_format=Csv(schema="id long, value string"),
            splitting=Splitting(block_size=100, group_bytes=300),
            sink=ParquetSink(str(tmp_path / "lake")),
            spark=JOB,
            deferrable=True,
        )
    run = runs.start(dag)

    assert runs.states(run)["logs.scan"] == "success"
    assert values(tmp_path / "lake") == sorted(f"quoted\n{n}" for n in range(40))


@pytest.fixture
def deferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deferred]:
    """A deferred task, and a ledger that triggers reach."""
    made = Deferred(tmp_path)
    url = {"url": f"sqlite:///{tmp_path}/ledger.db"}
    monkeypatch.setenv("AIRFLOW_CONN_LED", json.dumps({"conn_type": "blockread", "extra": url}))
    yield made
    made.go_on()
    made.pipe.close()


def test_a_person_stops_the_work(deferred: Deferred, server: ConnectServer) -> None:
    """The helper interrupts it, its attempt has failed, and a retry reads the group under a new epoch."""

    async def kill() -> None:
        trigger = deferred.trigger
        running = asyncio.create_task(first(trigger))
        await deferred.until(lambda: deferred.reads)
        (helper,) = helpers()
        assert server.token not in " ".join(cmdline(helper))
        for _ in range(5):  # as Airflow does, once a second
            running.cancel()
            await asyncio.sleep(0.2)
        await asyncio.wait([running])
        await trigger.on_kill()
        await deferred.until(lambda: not helper.is_running())

    asyncio.run(kill())
    assert deferred.group.state == "failed"
    asyncio.run(deferred.until(lambda: not deferred.reads))
    deferred.go_on()
    assert asyncio.run(first(deferred.trigger)) == {}
    assert (deferred.group.state, deferred.group.epoch) == ("done", 2)
    assert deferred.publishes()


@pytest.mark.parametrize("victim", ["triggerer", "helper"])
def test_another_triggerer_goes_on(deferred: Deferred, victim: str) -> None:
    """No two helpers work under one epoch; what a killed one ran on the server is ended."""
    process = deferred.in_triggerer()
    asyncio.run(deferred.until(lambda: deferred.reads))
    (helper,) = helpers(psutil.Process(process.pid))
    os.kill(process.pid if victim == "triggerer" else helper.pid, signal.SIGKILL)
    output = process.communicate()[0].decode()
    asyncio.run(deferred.until(lambda: not helper.is_running()))
    assert ("perhaps for lack of memory" in output) == (victim == "helper")

    async def go_on() -> Any:
        running = asyncio.create_task(first(deferred.trigger))
        await deferred.until(lambda: deferred.group.epoch == 2)
        deferred.go_on()
        return await running

    assert asyncio.run(go_on()) == {}
    assert (deferred.group.state, deferred.group.epoch) == ("done", 2)
    assert deferred.publishes()


@pytest.mark.parametrize("helps", [True, False], ids=["helper at work", "helper asleep"])
def test_a_wait_that_takes_too_long(deferred: Deferred, *, helps: bool) -> None:
    """The resumed task ends the work before it fails, whether or not a helper can; another try reads the group."""
    triggerer = deferred.in_triggerer()
    asyncio.run(deferred.until(lambda: deferred.reads))
    (helper,) = helpers(psutil.Process(triggerer.pid))
    if not helps:
        helper.suspend()
    operator = ReadBlocksOperator(
        task_id="t", window=deferred.ref.to_json(), group=0, spark=JOB, ledger_conn_id="led", deferrable=True
    )
    with pytest.raises(TaskDeferralTimeout):
        resume(operator, TIMEOUT)

    assert deferred.group.state == "failed"
    asyncio.run(deferred.until(lambda: not deferred.reads))
    if not helps:
        helper.resume()
    output = triggerer.communicate(timeout=120)[0].decode()
    assert "error" in output
    assert (deferred.group.state, deferred.group.epoch) == ("failed", 1)
    deferred.go_on()
    assert asyncio.run(first(deferred.trigger)) == {}
    assert (deferred.group.state, deferred.group.epoch) == ("done", 2)
    assert deferred.publishes()


@pytest.mark.parametrize("wakes", ["while the next one reads", "when all is read"])
def test_a_helper_that_sleeps_through_the_next_attempt(deferred: Deferred, wakes: str) -> None:
    """A suspended host wakes up with a claim that another triggerer has taken: it reads and completes nothing more."""
    asleep = deferred.in_triggerer()
    asyncio.run(deferred.until(lambda: deferred.reads))
    family = [psutil.Process(asleep.pid), *helpers(psutil.Process(asleep.pid))]
    for one in family:
        one.suspend()

    async def go_on() -> Any:
        running = asyncio.create_task(first(deferred.trigger))
        await deferred.until(lambda: deferred.group.epoch == 2 and deferred.reads)
        if wakes == "while the next one reads":
            await asyncio.to_thread(wake)
            assert (deferred.group.state, deferred.group.epoch) == ("running", 2)
        deferred.go_on()
        return await running

    def wake() -> None:
        for one in family:
            one.resume()
        output = asleep.communicate(timeout=120)[0].decode()
        assert "FencedError" in output

    assert asyncio.run(go_on()) == {}
    if wakes == "when all is read":
        wake()
    assert (deferred.group.state, deferred.group.epoch) == ("done", 2)
    assert [path.parent.name for path in deferred.pipe.attempt_files("result.json")] == ["00000-e2"]
    assert deferred.publishes()
