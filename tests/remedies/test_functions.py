"""Functions, bad records and files: the run that is cleared after the message was followed publishes what is right."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import BlockReadError, FunctionError, OptionsError, ProofError, RecordError
from airflow_provider_blockread.ledger.windows.generations import list_generations
from airflow_provider_blockread.options import (
    ArrowFunction,
    AsRead,
    Csv,
    FunctionCode,
    FunctionOption,
    FunctionText,
    JsonLines,
    Lines,
    Sql,
)
from airflow_provider_blockread.sinks import parquet
from tests.pipeline.here import ReadHere
from tests.pipeline.make import Pipe
from tests.remedies.desk import Desk

_NUMBERS = count()  # of modules, which are imported once
_HEAD = "import pyarrow as pa\ndef function(batch):\n    "
_LENGTHS = 'return pa.record_batch({"n": pa.array([len(v) for v in batch["value"].to_pylist()], pa.int64())})'


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ArrowFunction]:
    """What writes the function's module again, and names it."""
    folder = tmp_path / "code"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))

    def written(body: str) -> ArrowFunction:
        name = f"mine_{next(_NUMBERS)}"
        (folder / f"{name}.py").write_text(_HEAD + body + "\n")
        return ArrowFunction(f"{name}:function")

    return written


@pytest.mark.parametrize(
    ("wrong", "says", "right"),
    [
        ("raise ValueError('no')", "correct the function and clear the run", _LENGTHS),
        ("return 1", "must return a RecordBatch or None", "return None"),
        (
            'return pa.record_batch([batch["value"], batch["value"]], names=["a", "a"])',
            "return batches with distinct columns",
            'return pa.record_batch([batch["value"], batch["value"]], names=["a", "b"])',
        ),
        (
            'return pa.record_batch({"at": pa.array([1] * batch.num_rows, pa.timestamp("ns"))})',
            "declare it as timestamp, or cast it in the function",
            'return pa.record_batch({"at": pa.array([1] * batch.num_rows, pa.timestamp("us"))})',
        ),
        (
            'return pa.record_batch({"at": pa.array([[1]] * batch.num_rows, pa.list_(pa.timestamp("ns")))})',
            "cast it in the function",
            'return pa.record_batch({"at": pa.array([[1]] * batch.num_rows, pa.list_(pa.timestamp("us")))})',
        ),
        (
            'return batch if "b1" in str(batch["value"]) else batch.rename_columns(["other"])',
            "return these columns and types at every call",
            "return batch",
        ),
    ],
)
def test_a_function_that_is_corrected(
    here: Pipe, write: Callable[[str], ArrowFunction], wrong: str, says: str, right: str
) -> None:
    """The run is cleared with the corrected function."""
    here.put({"a.txt": b"a1\na2\n", "b.txt": b"b1\nb2\n"})
    here.function = write(wrong)
    with pytest.raises(FunctionError, match=says):
        here.run()
    here.function = write(right)

    assert here.run(clear_number=1).records == 4


def test_columns_that_are_declared(here: Pipe, write: Callable[[str], ArrowFunction]) -> None:
    """A schema that does not fit is replaced by that of what is returned."""
    here.put({"a.txt": b"a1\n"})
    here.function = ArrowFunction(write(_LENGTHS).path, schema="n int")
    with pytest.raises(FunctionError, match="or declare the ones that you return"):
        here.run()
    here.function = ArrowFunction(here.function.path, schema="n long")

    assert here.run(clear_number=1).records == 1


@pytest.mark.parametrize("group_bytes", [1000, 3], ids=["tasks", "groups"])
def test_tasks_and_groups_that_return_other_columns(
    here: Pipe, write: Callable[[str], ArrowFunction], group_bytes: int
) -> None:
    """The function returns the same always, as the message asks, and the run is cleared."""
    here.put({"a.txt": b"a1\n", "b.txt": b"b1\n"})
    here.group_bytes, here.submitter = group_bytes, ReadHere(cores=2)
    here.function = write('return batch if "b1" in str(batch["value"]) else batch.rename_columns(["other"])')
    with pytest.raises((FunctionError, ProofError), match=r"different schemas.* same columns and types always"):
        here.run()
    here.function = write("return batch")

    assert (here.run(clear_number=1).records, here.values()) == (2, ["a1", "b1"])


@pytest.mark.parametrize("remedy", ["options", "quarantine", "drop"])
def test_a_bad_record(here: Pipe, remedy: str) -> None:
    """Each of the ways that the message names, and the run cleared."""
    here.put({"a.txt": b"a1\n\xff\n"})
    with pytest.raises(RecordError, match=r"or set on_bad_record to 'quarantine' or 'drop'; to read"):
        here.run()
    if remedy == "options":
        here.record_format = Lines(encoding="binary")
    else:
        here.with_policies(on_bad_record=remedy)
    done = here.run(clear_number=1)

    assert done.rows == (2 if remedy == "options" else 1)


def test_columns_that_cannot_be_inferred(here: Pipe) -> None:
    """With the schema that the message asks for, the run is cleared."""
    here.put({"a.csv": b"a,b\n1,2\n", "b.csv": b"b,c\n1,2\n"})
    here.record_format = Csv(header=True)
    with pytest.raises(RecordError, match=r"cannot be inferred"):
        here.run()
    here.record_format = Csv(columns="by_name", header=True, schema="a string, b string, c string")

    assert here.run(clear_number=1).records == 2


def test_an_output_that_cannot_be_written(here: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once there is room again, or this account may write, the retry works."""
    here.put({"a.txt": b"a1\n"})
    ref = here.plan()

    class Full(parquet.pq.ParquetWriter):  # type: ignore[misc,name-defined]
        def write_table(self, *_: object, **_options: object) -> None:
            raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(parquet.pq, "ParquetWriter", Full)
        with pytest.raises(BlockReadError, match="free space there, or let this account write there, then retry"):
            here.read(ref)
    here.read(ref)

    assert here.commit(ref).records == 1


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-5])])
def test_a_staged_file_that_was_harmed(here: Pipe, harm: Callable[[Path], None]) -> None:
    """Its group is cleared, as the message says, and the window is published."""
    here.put({"a.txt": b"a1\n"})
    ref = here.plan()
    here.read(ref)
    harm(next(here.work.rglob("data/*")))
    with pytest.raises(ProofError, match=r"clear the group's task to read it again"):
        here.commit(ref)
    here.read(ref, clear_number=1)

    assert here.commit(ref).records == 1


def test_a_verification_that_finds_something_else(here: Pipe, desk: Desk) -> None:
    """The window is rebuilt, by the command that the message names, from what is there now."""
    here.put({"a.txt": b"a1\na2\n"})
    here.with_policies(proof="digest")
    here.run()
    stamp = (here.source / "a.txt").stat().st_mtime_ns
    here.put({"a.txt": b"a1\nXX\n"})
    os.utime(here.source / "a.txt", ns=(stamp, stamp))
    message = desk.refused("windows", "verify", "w")
    assert "verifying read 2 records" in message
    desk.carry_out(message)

    assert here.values() == ["XX", "a1"]


@pytest.mark.parametrize("command", ["verify", "rebuild"])
def test_a_function_of_a_dag(here: Pipe, desk: Desk, write: Callable[[str], ArrowFunction], command: str) -> None:
    """Commands do not have it and begin nothing; a cleared run does, and so does a function by its import path."""
    here.put({"a.txt": b"a1\n"})
    code = FunctionCode(text="def mine(batch):\n    return batch\n", file="/dags/mine.py", line=9)
    here.function = ArrowFunction(FunctionText(name="mine", digest=code.digest, code=code))
    here.env = dataclasses.replace(here.env, code=code)
    window = here.run().window
    if command == "rebuild":
        asked = desk.call("windows", command, "w", "--dry-run")
        assert "this will fail: window" in asked.output, asked.output
    says = r"its function mine is in a DAG's file, .* clear the DAG's run to read it again, or name the function by an"
    assert re.search(says, desk.refused("windows", command, "w"))
    assert len(list_generations(here.env.ledger, window)) == 1
    assert here.run(clear_number=1).generation == 2
    here.function = write("return batch")
    here.run(clear_number=2)
    desk.done("windows", command, "w")

    assert len(list_generations(here.env.ledger, window)) == 4


@pytest.mark.parametrize("function", [AsRead(columns=["_file"]), Sql("SELECT * FROM records", columns=["_file"])])
def test_a_place_column_of_the_records(here: Pipe, function: FunctionOption) -> None:
    """Nothing is planned; without it, the records' own column is published."""
    here.put({"a.jsonl": b'{"_file": "mine"}\n'})
    here.record_format, here.function = JsonLines(schema="_file string"), function
    with pytest.raises(OptionsError, match="columns has '_file', but the records have a column of that name; leave it"):
        here.plan()
    here.function = AsRead()
    here.run()

    assert here.rows() == [{"_file": "mine"}]
