"""DataFrame functions and queries on a Spark Connect server: the same as with spark-submit."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from airflow_provider_blockread.errors import FunctionError, SparkJobError
from airflow_provider_blockread.options import Csv, DataFrameFunction, SparkJob, Sql
from airflow_provider_blockread.spark.remote import RemoteSpark
from tests.pipeline.frames.returned import COUNT, RETURNED, row
from tests.pipeline.make import Pipe, ReadHere
from tests.spark.engines.modules import MODULES
from tests.spark.engines.server import ConnectServer, connect_server

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def client(server: ConnectServer) -> Iterator[RemoteSpark]:
    """A client whose session all tests of this file share, as the windows of one command do."""
    with RemoteSpark(server.server, SparkJob(remote=server.remote, py_files=MODULES)) as submitter:
        yield submitter


@pytest.fixture(autouse=True)
def no_other_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the Spark that other tests may have left in this process, where a worker has none."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setattr(SparkSession, "_instantiatedSession", None)


@pytest.fixture
def numbers(tmp_path: Path, client: RemoteSpark) -> Iterator[Pipe]:
    """A pipe with records in three files of several blocks."""
    pipe = Pipe(folder=tmp_path, submitter=client)
    pipe.put({f"{n}.csv": b"".join(map(row, range(n, COUNT, 3))) for n in range(3)})
    pipe.record_format, pipe.block_size = Csv(schema="id long, word string"), 500
    yield pipe
    pipe.close()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", RETURNED)
def test_the_output_is_what_the_function_returns(numbers: Pipe, name: str) -> None:
    """The function sees each record of the window once, whatever it does with them."""
    numbers.function, expected = RETURNED[name]
    done = numbers.run()

    key = next(iter(expected[0])) if expected else ""
    assert sorted(numbers.rows(), key=lambda found: found[key]) == expected
    assert (done.records, done.rows) == (COUNT, len(expected))


@pytest.mark.parametrize("elsewhere", [None, "sc://elsewhere.example:9"])
def test_the_usual_call_for_a_session_returns_this_one(
    numbers: Pipe, monkeypatch: pytest.MonkeyPatch, elsewhere: str | None
) -> None:
    """Whatever server the environment names, which is left as it was."""
    if elsewhere is None:
        monkeypatch.delenv("SPARK_REMOTE", raising=False)
    else:
        monkeypatch.setenv("SPARK_REMOTE", elsewhere)
    numbers.function, expected = RETURNED["own session"]
    numbers.run()

    assert sorted(row["id"] for row in numbers.rows()) == [row["id"] for row in expected]
    assert os.environ.get("SPARK_REMOTE") == elsewhere


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[logging.LogRecord]:
    """What pyspark logs of errors, where nothing keeps it from that."""
    from pyspark.logger import PySparkLogger

    found: list[logging.LogRecord] = []
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logger = PySparkLogger.getLogger(name)
        monkeypatch.setattr(logger, "disabled", False)
        monkeypatch.setattr(logger, "handle", found.append)
    return found


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (Sql("SELECT nothing FROM records"), "nothing"),
        (Sql("SELECT assert_true(id < 3) FROM records"), "is not true"),
        (DataFrameFunction("user_frames:raises"), "fails: "),
        (DataFrameFunction("user_frames:locks"), "cannot pickle '_thread.lock' object"),
        (DataFrameFunction("user_frames:stops"), "user_frames:stops stops Spark; leave out"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    pipe: Pipe,
    function: Sql | DataFrameFunction,
    message: str,
    printed: list[logging.LogRecord],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By the query or function, without the stack, which pyspark would print; nothing is published."""
    pipe.put({"a.csv": b"1,a\n5,b\n"})
    pipe.record_format, pipe.function = Csv(schema="id long, word string"), function
    with pytest.raises(FunctionError, match=message) as raised:
        pipe.run()

    assert "\n" not in str(raised.value)
    assert (printed, "Traceback" in capsys.readouterr().err) == ([], False)
    assert pipe.published() == []


def test_staged_files_that_the_jvm_does_not_open(numbers: Pipe) -> None:
    """A data source reads them on the server, where the function reads them more than once."""
    numbers.out_name, (numbers.function, expected) = "out [1]", RETURNED["cache"]
    done = numbers.run()

    assert sorted(numbers.rows(), key=lambda found: found["id"]) == expected
    assert (done.records, done.rows) == (COUNT, len(expected))


def test_a_cache_ends_with_its_window(numbers: Pipe, server: ConnectServer) -> None:
    """What a function keeps in the server's memory is dropped once its rows are written, or it has failed."""
    for name in ("cached", "caches_and_raises"):
        numbers.function = DataFrameFunction(f"user_frames:{name}")
        with suppress(FunctionError):
            numbers.run(name)
        [application] = _of_pages(server, "applications")
        assert _of_pages(server, f"applications/{application['id']}/storage/rdd") == []


def _of_pages(server: ConnectServer, path: str) -> list[dict[str, Any]]:
    with urlopen(f"{server.pages}/api/v1/{path}") as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


def test_a_task_that_fails_once(numbers: Pipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Spark tries again leaves no row of its first attempt."""
    monkeypatch.setenv("BLOCKREAD_TEST_MARKS", str(tmp_path))
    numbers.function = DataFrameFunction("user_frames:fails_once")
    done = numbers.run()

    assert (tmp_path / "frame failed").exists()
    assert sorted(found["id"] for found in numbers.rows()) == list(range(COUNT))
    assert done.rows == COUNT


def test_a_server_that_is_lost(tmp_path: Path, server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is killed while the function's rows are written is named; a retry on another server completes."""
    (tmp_path / "server").mkdir()
    monkeypatch.setenv("BLOCKREAD_TEST_MARKS", str(tmp_path))
    pipe = Pipe(folder=tmp_path, submitter=ReadHere())
    pipe.put({"a.csv": b"".join(map(row, range(COUNT)))})
    pipe.record_format, pipe.function = Csv(schema="id long, word string"), DataFrameFunction("user_frames:kills_spark")
    ref = pipe.plan()
    with (
        connect_server(tmp_path / "server", BLOCKREAD_TEST_MARKS=str(tmp_path)) as lost,
        RemoteSpark(lost.server, SparkJob(remote=lost.remote, py_files=MODULES)) as pipe.submitter,
        pytest.raises(SparkJobError, match=r"Connect server at localhost:\d+ was lost .*; check that it runs"),
    ):
        pipe.read(ref)

    assert (tmp_path / "frame killed").exists()
    assert (pipe.published(), pipe.state()) == ([], "reading")
    with RemoteSpark(server.server, SparkJob(remote=server.remote, py_files=MODULES)) as pipe.submitter:
        done = pipe.run()
    assert sorted(found["id"] for found in pipe.rows()) == list(range(COUNT))
    assert (done.records, done.rows) == (COUNT, COUNT)
    pipe.close()
