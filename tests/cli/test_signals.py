"""Commands that a signal stops: one line, the exit code of shells, and no leftovers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import FileSource, GenerationOptions, ParquetSink
from airflow_provider_blockread.steps import Environment, PlanRequest, plan
from airflow_provider_blockread.storage.stores import Stores
from tests.cli.place import Place
from tests.ledgers import open_ledger

_COMMAND = [sys.executable, "-c", "from airflow_provider_blockread.cli import main; main()"]
_START_S = 240.0  # of Spark, on a loaded machine
_AGAIN = "run the same command again to continue"
# Python imports it first: the first import of SQLAlchemy then takes its time.
_SAYS_WHEN = """
import pathlib, sys, time
class Slow:
    def find_spec(self, name, *rest):
        if name == "sqlalchemy":
            pathlib.Path({!r}).touch()
            time.sleep(60)
sys.meta_path.insert(0, Slow())
"""
_WAITS_ONCE = """
import pathlib, time
def waits_once(batch):
    mark = pathlib.Path(__file__).with_name("waiting")
    if not mark.exists():
        mark.touch()
        time.sleep(600)
    return batch
"""


@contextmanager
def started(place: Place, *arguments: str, until: Callable[[], bool]) -> Iterator[subprocess.Popen[bytes]]:
    """Start a command in a process group and a separate temporary folder, and yield it once the condition holds."""
    (place.folder / "tmp").mkdir(exist_ok=True)
    own = {"TMPDIR": str(place.folder / "tmp"), "PYTHONPATH": str(place.folder)}
    with (place.folder / "stdout").open("wb") as out, (place.folder / "stderr").open("wb") as err:
        process = subprocess.Popen(
            [*_COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            env={**os.environ, **own},
            start_new_session=True,
        )
    with process:
        try:
            deadline = time.monotonic() + _START_S
            while not until():
                assert process.poll() is None, output_of(place)
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


def output_of(place: Place) -> str:
    """Return the messages of the command so far."""
    return (place.folder / "stderr").read_text("utf-8")


def family(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Return the processes that a command has started."""
    return psutil.Process(process.pid).children(recursive=True)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("number", "whole_group"),
    [(signal.SIGINT, True), (signal.SIGTERM, False), (signal.SIGTERM, True), (signal.SIGHUP, True)],
    ids=["ctrl-c", "terminate", "terminate-all", "hang-up"],
)
def test_a_run_is_stopped(place: Place, number: signal.Signals, *, whole_group: bool) -> None:
    """A terminal signals Spark's processes too; the same command then resumes at once."""
    place.put({"a.log": b"one\ntwo\n"})
    (place.folder / "waiter.py").write_text(_WAITS_ONCE, "utf-8")
    local = ["--conf", f"spark.local.dir={place.folder / 'tmp'}"]
    command = place.run("--function", "waiter:waits_once", *local)
    with started(place, *command, until=(place.folder / "waiting").exists) as process:
        others = family(process)
        (os.killpg if whole_group else os.kill)(process.pid, number)
        assert process.wait(60) == 128 + number

    *progress, last = output_of(place).splitlines()
    assert last == f"blockread: stopped by {number.name}; {_AGAIN}"
    said = [line.partition(" ")[0] for line in progress]
    assert (said[:3], set(said[3:]) - {"read"}) == (["feed", "window", "group"], set())  # progress, on a busy machine
    assert psutil.wait_procs(others, timeout=30)[1] == []
    assert list((place.folder / "tmp").iterdir()) == []
    (listed,) = place.json("windows", "list")
    assert listed["state"] != "published"

    with started(place, *command, until=lambda: True) as again:
        assert again.wait(_START_S) == 0
    said = (place.folder / "stdout").read_text("utf-8")
    assert "2 rows in 1 file" in said
    assert re.search(r"took .* s, [1-9]\S* B/s with Spark's start", said)


@pytest.mark.spark
def test_a_run_is_stopped_while_spark_starts(place: Place) -> None:
    """No job begins after the signal, and the JVM ends."""
    place.put({"a.log": b"one\n"})
    with started(place, *place.run(), until=lambda: "reading as epoch" in output_of(place)) as process:
        while not (found := family(process)):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 143

    assert "Traceback" not in output_of(place)
    assert output_of(place).splitlines()[-1].startswith("blockread: stopped by SIGTERM")
    assert psutil.wait_procs(found, timeout=30)[1] == []
    assert list((place.folder / "tmp").iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_question_is_left(place: Place, number: signal.Signals) -> None:
    """A signal at a prompt does not confirm: nothing is done."""
    place.put({"a.log": b"one\n"})
    plan_one(place)
    command = ["windows", "abandon", "k", *place.state]
    with started(place, *command, until=lambda: "?" in output_of(place)) as process:
        process.send_signal(number)
        assert process.wait(60) == 128 + number

    assert output_of(place).splitlines()[-1].endswith(f"blockread: stopped by {number.name}; {_AGAIN}")
    assert "Traceback" not in output_of(place)
    assert place.json("windows", "list")[0]["state"] == "waiting"


def plan_one(place: Place) -> None:
    """Plan the window `k` of the files at the source."""
    ledger = open_ledger(place.state[1])
    request = PlanRequest(
        feed="logs",
        key="k",
        source=FileSource(str(place.source)),
        generation=GenerationOptions(sink=ParquetSink(str(place.folder / "out"))),
        owner="test",
    )
    plan(Environment(ledger=ledger, stores=Stores(), observer=Observer()), request)
    ledger.close()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_command_is_stopped_while_it_is_imported(place: Place, number: signal.Signals) -> None:
    """Nothing has begun by then, and no traceback is printed."""
    marks = place.folder / "marks"
    (place.folder / "sitecustomize.py").write_text(_SAYS_WHEN.format(str(marks)), "utf-8")
    with started(place, "windows", "list", *place.state, until=marks.exists) as process:
        process.send_signal(number)
        assert process.wait(60) == 128 + number
    assert output_of(place) == f"blockread: stopped by {number.name}; {_AGAIN}\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_not_lost(tmp_path: Path, number: signal.Signals) -> None:
    """The signal may arrive in a callback, whose exceptions Python prints and ignores."""
    code = "import os, time, weakref; from airflow_provider_blockread.cli.terminal import interrupts\n"
    code += "class Thing: ...\nthing = Thing(); interrupts.raise_on_signals()\n"
    code += f"reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), {int(number)}))\ntry:\n"
    code += "    del thing\n    time.sleep(60)\nexcept interrupts.Interrupted as stop:\n    print(stop)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=50, check=False)
    assert (done.stdout, done.stderr) == (f"stopped by {number.name}; {_AGAIN}\n", "")


def test_what_a_caller_ignores_stays_ignored(tmp_path: Path) -> None:
    """A command under `nohup` ignores the signal."""
    code = "import os, signal; from airflow_provider_blockread.cli.terminal.interrupts import raise_on_signals as r\n"
    code += "signal.signal(signal.SIGHUP, signal.SIG_IGN); r(); os.kill(os.getpid(), signal.SIGHUP)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False).returncode == 0
