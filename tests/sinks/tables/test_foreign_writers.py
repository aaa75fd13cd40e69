"""Other programs that write to the same table at the same time: no row of theirs or of ours is lost or doubled."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import ProofError
from tests.sinks.kinds import Bench

pytestmark = pytest.mark.slow  # processes of their own

_ROOT = Path(__file__).resolve().parents[3]
_WINDOWS = 2
_DELTA = """
import pyarrow as pa
from deltalake import DeltaTable, Field, Schema, write_deltalake
from deltalake.exceptions import CommitFailedError

def append(number):
    write_deltalake(place, pa.table({"value": [f"theirs {number}"]}), mode="append", schema_mode="merge")

def compact(number):
    DeltaTable(place).optimize.compact()

def widen(number):
    DeltaTable(place).alter.add_columns([Field(f"more{number}", "string")])

lost_race = CommitFailedError
"""
_ICEBERG = """
import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException, ValidationException
from pyiceberg.types import StringType
from tests.sinks.kinds import opened_iceberg

def append(number):
    opened_iceberg(place).append(pa.table({"value": [f"theirs {number}"]}))

def compact(number):
    table = opened_iceberg(place)
    table.overwrite(table.scan().to_arrow())

def widen(number):
    with opened_iceberg(place).update_schema() as change:
        change.add_column(f"more{number}", StringType())

lost_race = (CommitFailedException, ValidationException)
"""
_LOOP = """
import sys, time
from pathlib import Path
place, act, stop = sys.argv[1], globals()[sys.argv[2]], Path(sys.argv[3])
number = done = 0
while not stop.exists() or not done:
    try:
        act(number)
        done += 1
        print(number, flush=True)
    except lost_race:
        pass
    number += 1
    time.sleep(0.1 * number)  # growing, so that it has the table for itself on no machine, however slow
"""


@pytest.fixture(params=["delta", "iceberg"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    """A table of each format, with a window in it."""
    made = Bench(request.param, str(tmp_path / "out"))
    made.publish("first", window="w0")
    return made


@contextmanager
def _at_work(bench: Bench, act: str, folder: Path) -> Iterator[list[int]]:
    """Let another process repeat something until the body ends, and at least once; give the numbers of what it did."""
    stop, said = folder / "stop", folder / "said"
    program = {"delta": _DELTA, "iceberg": _ICEBERG}[bench.kind] + _LOOP
    done: list[int] = []
    with said.open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", program, bench.place, act, stop], stdout=out, cwd=_ROOT)
        try:
            while not said.read_text() and process.poll() is None:
                time.sleep(0.02)
            yield done
        finally:
            stop.touch()
            assert process.wait(180) == 0
    done += map(int, said.read_text().split())


@pytest.mark.parametrize("act", ["append", "widen"])
def test_a_writer_that_leaves_our_files_alone(bench: Bench, tmp_path: Path, act: str) -> None:
    """Windows are published and replaced beside it as if it were not there."""
    with _at_work(bench, act, tmp_path) as theirs:
        for number in range(_WINDOWS):
            old = bench.publish(f"old {number}", window=f"w{number + 1}")
            new = bench.stage(f"new {number}", window=f"w{number + 1}", generation=2)
            bench.apply(bench.steps(new, old))
    found = Counter(bench.values())

    expected = Counter({"first": 2, **{f"new {number}": 2 for number in range(_WINDOWS)}})
    assert found == expected + Counter(f"theirs {number}" for number in theirs if act == "append")


def test_a_writer_that_rewrites_our_files(bench: Bench, tmp_path: Path) -> None:
    """A window that it has compacted meanwhile is not replaced, in words; no other row is lost or doubled."""
    shown = Counter({"first": 2})
    with _at_work(bench, "compact", tmp_path):
        for number in range(_WINDOWS):
            old = bench.publish(f"old {number}", window=f"w{number + 1}")
            new = bench.stage(f"new {number}", window=f"w{number + 1}", generation=2)
            try:
                bench.apply(bench.steps(new, old))
                shown[f"new {number}"] = 2
            except ProofError:
                shown[f"old {number}"] = 2

    assert Counter(bench.values()) == shown
