"""Deferred reads on a Spark Connect server, driven by a helper of the triggerer that may be stopped or killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.options import (
    ArrowFunction,
    Csv,
    DataFrameFunction,
    FileSource,
    ParquetSink,
    SparkJob,
    Splitting,
)
from airflow_provider_blockread.steps import Environment, WindowRef
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from airflow_provider_blockread.triggers.remote_work import RemoteWorkTrigger
from tests.airflow.metrics import kept_metrics
from tests.airflow.published import SUCCESS, lines, values
from tests.airflow.triggering import first
from tests.pipeline.make import Pipe, ReadHere
from tests.spark.engines.server import ConnectServer, connect_server
from tests.system.processes import cmdline

pytestmark = [pytest.mark.airflow, pytest.mark.spark]

_TESTS = Path(__file__).parents[2]
MODULES = [str(_TESTS / "system" / "dags" / "functions.py"), str(_TESTS / "pipeline" / "user_frames.py")]
JOB = SparkJob(conn_id="connect", py_files=MODULES, heartbeat_s=0.5)


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


class Deferred:
    """A deferred task that reads the only group of a window, whose function waits until it is told to go on."""

    def __init__(self, folder: Path) -> None:
        """Plan the window."""
        self.pipe = Pipe(
            folder=folder, submitter=ReadHere(), function=ArrowFunction("functions:hold", columns=["_file"])
        )
        self.pipe.put({"a.txt": b"a1\na2\n"})
        self.ref: WindowRef = self.pipe.plan()
        self.env: Environment = self.pipe.env

    @property
    def arguments(self) -> dict[str, Any]:
        """The trigger's arguments, as Airflow keeps them."""
        work = {"ref": self.ref.to_json(), "group": 0, "owner": "task", "clear_number": 0, "code": None}
        made = RemoteWorkTrigger(work=work, spark=JOB.to_json(), ledger_conn_id="led").serialize()[1]
        found: dict[str, Any] = json.loads(json.dumps(made))
        return found

    @property
    def trigger(self) -> RemoteWorkTrigger:
        """The trigger, as any triggerer makes it."""
        return RemoteWorkTrigger(**self.arguments)

    @property
    def group(self) -> Group:
        """The group, as the ledger knows it."""
        return list_groups(self.env.ledger, self.ref.window, self.ref.generation)[0]

    @property
    def reads(self) -> bool:
        """Whether the function was called just now."""
        mark = self.pipe.folder / "asleep"
        return mark.exists() and time.time() - mark.stat().st_mtime < 1

    async def until(self, found: Callable[[], bool]) -> None:
        """Wait for something."""
        deadline = time.monotonic() + 120
        while not found():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)

    def go_on(self) -> None:
        """Let the function return."""
        (self.pipe.folder / "mended").touch()

    def publishes(self) -> bool:
        """Return whether the window publishes its records."""
        return self.pipe.commit(self.ref).records == 2


@pytest.fixture
def deferred(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Deferred]:
    """A deferred task, and a ledger that triggers reach."""
    made = Deferred(tmp_path)
    url = {"url": f"sqlite:///{tmp_path}/ledger.db"}
    monkeypatch.setenv("AIRFLOW_CONN_LED", json.dumps({"conn_type": "blockread", "extra": url}))
    yield made
    made.go_on()
    made.pipe.close()


def helpers(root: psutil.Process | None = None) -> list[psutil.Process]:
    """Return the helpers of a process, or of this one."""
    found = (root or psutil.Process()).children(recursive=True)
    return [one for one in found if "steps.watch.serving" in " ".join(cmdline(one))]


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
    process = subprocess.Popen([sys.executable, __file__, json.dumps(deferred.arguments)], stdout=subprocess.PIPE)
    asyncio.run(deferred.until(lambda: deferred.reads))
    (helper,) = helpers(psutil.Process(process.pid))
    os.kill(process.pid if victim == "triggerer" else helper.pid, signal.SIGKILL)
    told = process.communicate()[0].decode()
    asyncio.run(deferred.until(lambda: not helper.is_running()))
    assert ("perhaps for lack of memory" in told) == (victim == "helper")

    async def go_on() -> Any:
        running = asyncio.create_task(first(deferred.trigger))
        await deferred.until(lambda: deferred.group.epoch == 2)
        deferred.go_on()
        return await running

    assert asyncio.run(go_on()) == {}
    assert (deferred.group.state, deferred.group.epoch) == ("done", 2)
    assert deferred.publishes()


def main(arguments: dict[str, Any]) -> None:
    """Be a triggerer with one trigger."""
    print(asyncio.run(first(RemoteWorkTrigger(**arguments))), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
