"""Processes around a real Spark that are killed while it reads: the next try publishes every record once.

A Python worker and a driver that die by themselves are in tests/pipeline/read/test_deaths.py.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pyarrow.dataset as ds
import pytest

from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.options import ArrowFunction
from tests.pipeline.make import Pipe, ReadHere

pytestmark = [pytest.mark.spark, pytest.mark.crash]

_START_S = 240.0  # of Spark, on a machine that has much else to do
_TRUTH = [f"{name}{number}" for name in "ab" for number in range(1, 4)]
_FUNCTION = "tests.crash.dying_functions:waits_once"
_IN_WRITING = "tests.crash.dying_functions:waits_once_in_writing"
_CONF = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false"}

_OPERATOR = f"""
import sys
from pathlib import Path
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.options import ArrowFunction, SparkJob
from tests.pipeline.make import Pipe
job = SparkJob(master="local[1]", conf={_CONF!r}, environment=("BLOCKREAD_TEST_*",))
pipe = Pipe(folder=Path(sys.argv[1]), submitter=SparkSubmitter(job), function=ArrowFunction("{_FUNCTION}"))
pipe.read(pipe.plan())
"""
_COMMAND = "from airflow_provider_blockread.cli import main; main()"


def _put(folder: Path) -> None:
    (folder / "in").mkdir()
    for name in "ab":
        (folder / "in" / f"{name}.txt").write_text("".join(f"{name}{n}\n" for n in range(1, 4)), "utf-8")


def _environment(folder: Path) -> dict[str, str]:
    paths = [str(Path(__file__).parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    own = {"PYTHONPATH": os.pathsep.join(paths), "BLOCKREAD_TEST_MARKS": str(folder)}
    return {**os.environ, **own, "AIRFLOW_HOME": str(folder / "airflow")}


@contextmanager
def _reading(folder: Path, *command: str) -> Iterator[tuple[subprocess.Popen[bytes], dict[str, str]]]:
    """Start a program and give it, with the processes above the Spark worker, when that is at work."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=_environment(folder), stdout=log, stderr=log)
    try:
        mark, deadline = folder / "waiting.json", time.monotonic() + _START_S
        while not mark.exists():
            assert process.poll() is None, (folder / "log").read_text("utf-8")[-2000:]
            assert time.monotonic() < deadline, "the function is not called"
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.1)
        yield process, json.loads(mark.read_text("utf-8"))["parents"]
    finally:
        process.kill()
        process.wait()


def _gone(pids: list[int], timeout_s: float = 30.0) -> bool:
    found = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    return not psutil.wait_procs(found, timeout=timeout_s)[1]


@pytest.mark.airflow
def test_operator_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Spark driver ends too; the retry is the next epoch, and nothing of the first attempt is published."""
    _put(tmp_path)
    with _reading(tmp_path, sys.executable, "-c", _OPERATOR, str(tmp_path)) as (operator, parents):
        drivers = [int(pid) for pid, name in parents.items() if "java" in name]
        assert drivers
        os.kill(operator.pid, signal.SIGKILL)
        operator.wait()
        assert _gone(drivers)
    monkeypatch.setenv("BLOCKREAD_TEST_MARKS", str(tmp_path))
    # With other options the retry would start a new generation, whose epochs start at 1 again.
    pipe = Pipe(folder=tmp_path, submitter=ReadHere(), function=ArrowFunction(_FUNCTION))
    ref = pipe.plan()
    (outcome,) = pipe.read(ref)
    done = pipe.commit(ref)

    assert (outcome.epoch, done.records, pipe.values()) == (2, len(_TRUTH), _TRUTH)
    pipe.close()


def _command(folder: Path, function: tuple[str, str] = ("--function", _FUNCTION)) -> list[str]:
    state = f"sqlite:///{folder / 'ledger.db'}"
    options = ["--output", str(folder / "out"), "--state", state, "--window", "w", *function]
    spark = ["--master", "local[1]", *(part for key, value in _CONF.items() for part in ("--conf", f"{key}={value}"))]
    return [sys.executable, "-c", _COMMAND, "run", str(folder / "in"), *options, *spark]


@pytest.mark.sampled(1, each="victim")
@pytest.mark.parametrize(
    ("victim", "function"),
    [
        ("driver", ("--function", _FUNCTION)),
        ("command", ("--function", _FUNCTION)),
        ("driver", ("--dataframe-function", _IN_WRITING)),
        ("command", ("--dataframe-function", _IN_WRITING)),
    ],
)
def test_command_is_killed(tmp_path: Path, victim: str, function: tuple[str, str]) -> None:
    """The same `blockread run` again is the next epoch, at once: what failed is said, and who died is known dead.

    A function of DataFrames is killed when all is read and its result is written.
    """
    _put(tmp_path)
    with _reading(tmp_path, *_command(tmp_path, function)) as (process, parents):
        drivers = [int(pid) for pid, name in parents.items() if "java" in name]
        os.kill(drivers[0] if victim == "driver" else process.pid, signal.SIGKILL)
        process.wait(60)
        assert process.returncode
        assert _gone(drivers)
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    (window,) = [summary.window.id for summary in list_windows(ledger)]
    states = [row.state for row in list_groups(ledger, window, 1)]
    again = subprocess.run(
        _command(tmp_path, function), cwd=tmp_path, env=_environment(tmp_path), capture_output=True, check=False
    )
    epochs = [row.epoch for row in list_groups(ledger, window, 1)]
    ledger.close()

    assert again.returncode == 0, again.stderr.decode()[-2000:]
    assert (states, epochs) == (["failed" if victim == "driver" else "running"], [2])
    assert sorted(ds.dataset(str(tmp_path / "out"), format="parquet").to_table()["value"].to_pylist()) == _TRUTH
