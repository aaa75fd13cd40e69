"""A Spark Connect server with two executors: it repeats and duplicates tasks, and the output does not show it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_provider_blockread.options import ArrowFunction, DataFrameFunction, FunctionOption, Policies, SparkJob
from airflow_provider_blockread.spark.remote import RemoteSpark
from tests.pipeline.cluster import standalone
from tests.pipeline.make import Pipe
from tests.spark.engines.modules import MODULES
from tests.spark.engines.server import ConnectServer, connect_server

pytestmark = pytest.mark.spark

_SETTINGS = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.minTaskRuntime": "100ms",
    "spark.speculation.multiplier": "1.1",
    "spark.speculation.quantile": "0.1",
}
_NAMES = ["a", "b", "c", "d"]
_FILES = {f"{name}.txt": b"".join(b"%s %d\n" % (name.encode(), i) for i in range(3)) + b"\xff bad\n" for name in _NAMES}
_GOOD = [f"{name} {i}" for name in _NAMES for i in range(3)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectServer]:
    """A server whose executors are on two hosts."""
    folder = tmp_path_factory.mktemp("executors")
    with standalone(tmp_path_factory.mktemp("cluster")) as cluster:
        settings = cluster.conf | _SETTINGS | {"spark.executorEnv.BLOCKREAD_TEST_MARKS": str(folder)}
        with connect_server(folder, master=cluster.master, settings=settings) as running:
            yield running


@pytest.fixture
def pipe(tmp_path: Path, server: ConnectServer) -> Iterator[Pipe]:
    """A pipeline whose jobs run on the server."""
    with RemoteSpark(server.server, SparkJob(remote=server.remote, py_files=MODULES)) as submitter:
        made = Pipe(folder=tmp_path, submitter=submitter)
        yield made
        made.close()


@pytest.fixture(autouse=True)
def _no_marks(server: ConnectServer) -> None:
    for mark in ("failed", "killed", "slow", "overtaken"):
        (server.folder / mark).unlink(missing_ok=True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "function",
    [ArrowFunction("user_functions:fails_and_kills"), DataFrameFunction("user_frames:fails_and_kills")],
    ids=["arrow", "dataframe"],
)
def test_tasks_and_executors_that_fail(pipe: Pipe, server: ConnectServer, function: FunctionOption) -> None:
    """A task that raises and an executor that is killed are made good; output and counts are exact."""
    pipe.put(_FILES | {"e.txt": b"fail here\n\xfe\n", "f.txt": b"kill here\n\xfd\n"})
    pipe.function, pipe.policies = function, Policies(on_bad_record="drop")
    done = pipe.run()

    assert all((server.folder / mark).exists() for mark in ("failed", "killed"))
    assert pipe.values() == sorted([*_GOOD, "fail here", "kill here"])
    assert (done.records, done.bad_records, done.rows, len(pipe.published())) == (20, 6, 14, done.outputs)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "function",
    [ArrowFunction("user_functions:sleeps_once"), DataFrameFunction("user_frames:sleeps_once")],
    ids=["arrow", "dataframe"],
)
def test_speculative_duplicate(pipe: Pipe, server: ConnectServer, function: FunctionOption) -> None:
    """Two attempts at one task at the same time: the output holds the accepted one's rows, once."""
    pipe.put(_FILES | {"e.txt": b"sleep here\n\xfe\n"})
    pipe.function, pipe.policies = function, Policies(on_bad_record="drop")
    done = pipe.run()

    assert (server.folder / "overtaken").exists()
    assert pipe.values() == sorted([*_GOOD, "sleep here"])
    assert (done.records, done.bad_records, done.rows, len(pipe.published())) == (18, 5, 13, done.outputs)
