"""Audit columns: each row says where it comes from, in every sink that has columns."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import SINKS, ArrowFunction, Csv, Sql
from airflow_provider_blockread.options.sinks import AUDIT_COLUMNS, ColumnarSink
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pipeline.make import START, Pipe, ReadHere

pytestmark = pytest.mark.slow

_EVERY = [name for name, option in SINKS.items() if issubclass(option, ColumnarSink)]
_AT = datetime(2025, 5, 6, 7, 8, 9, tzinfo=UTC)


def odd(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Keep every second record."""
    return batch.take(pa.array(range(1, batch.num_rows, 2)))


def made(folder: Path, kind: str, *columns: str) -> Pipe:
    """Return a pipeline over two files of two blocks each."""
    pipe = Pipe(folder=folder, submitter=ReadHere(), kind=kind, block_size=6, sink_options={"audit": columns})
    pipe.put({"a.txt": b"a1\na2\na3\na4\n", "b.txt": b"b1\nb2\n"})
    for name in ("a.txt", "b.txt"):
        os.utime(pipe.source / name, (_AT.timestamp(), _AT.timestamp()))
    return pipe


@pytest.mark.parametrize("kind", _EVERY)
def test_every_column_in_every_sink(tmp_path: Path, kind: str) -> None:
    """A row's file, block and offset are its record's; its window's are the same for all rows, through a rebuild."""
    columns = [name for name in AUDIT_COLUMNS if kind != "postgres" or name != "_window"]
    pipe = made(tmp_path, kind, *columns)
    pipe.run("key of 2026-01-31")
    pipe.run("key of 2026-01-31", clear_number=1)
    window = get_window(pipe.env.ledger, "key of 2026-01-31").id
    common: dict[str, Any] = {"_modified": _AT, "_window": window, "_window_key": "key of 2026-01-31", "_loaded": START}
    common["_window_date"] = date(2026, 1, 31)
    pipe.close()

    places = [("a.txt", 0, 0), ("a.txt", 0, 3), ("a.txt", 1, 6), ("a.txt", 1, 9), ("b.txt", 2, 0), ("b.txt", 2, 3)]
    rows = sorted(pipe.rows(), key=lambda row: str(row["value"]))
    assert [row.pop("value") for row in rows] == ["a1", "a2", "a3", "a4", "b1", "b2"]
    assert rows == [
        {
            name: {**common, "_file": pipe.uri(file), "_block": block, "_offset": offset}[name]
            for name in columns
        }
        for file, block, offset in places
    ]  # fmt: skip


def test_behind_a_function_that_drops_rows(tmp_path: Path) -> None:
    """The offset of a record is known only to a function that passes it on; its file and window always are."""
    pipe = made(tmp_path, "parquet", "_file", "_offset")
    pipe.function = ArrowFunction("tests.pipeline.functions.test_audit:odd")
    ref = pipe.plan()
    with pytest.raises(FunctionError, match=r"returns no column '_offset'.*ask for it by columns=\['_offset'\]"):
        pipe.read(ref)
    pipe.function = ArrowFunction("tests.pipeline.functions.test_audit:odd", columns=["_offset"])
    pipe.run(clear_number=1)
    rows = sorted(pipe.rows(), key=lambda row: str(row["value"]))
    pipe.close()

    assert [(row["value"], row["_offset"], row["_file"]) for row in rows] == [
        ("a2", 3, pipe.uri("a.txt")),
        ("a4", 9, pipe.uri("a.txt")),
        ("b2", 3, pipe.uri("b.txt")),
    ]


def test_a_column_of_the_same_name(tmp_path: Path) -> None:
    """One of another type is not taken for the audit column."""
    pipe = made(tmp_path, "parquet", "_file")
    pipe.function = ArrowFunction("tests.pipeline.functions.test_audit:odd", schema="value string, _file long")
    ref = pipe.plan()
    with pytest.raises(FunctionError, match=r"column '_file' is int64.*rename one of them"):
        pipe.read(ref)
    pipe.function = ArrowFunction("tests.pipeline.functions.test_audit:odd")
    pipe.run(clear_number=1)
    assert len(pipe.rows()) == 3
    pipe.close()


@pytest.mark.parametrize("name", ["_file", "_window"])
def test_a_column_of_the_records(here: Pipe, name: str) -> None:
    """A header cannot say where rows come from; without the audit, it is a column as any."""
    here.put({"a.txt": f"a,{name}\n1,/etc/passwd\n".encode()})
    here.record_format, here.sink_options = Csv(header=True), {"audit": [name]}
    ref = here.plan()
    with pytest.raises(FunctionError, match=f"the records have a column '{name}' of their own"):
        here.read(ref)
    here.sink_options = {}
    here.run(clear_number=1)

    assert [row[name] for row in here.rows()] == ["/etc/passwd"]


@pytest.mark.spark
def test_behind_a_query(pipe: Pipe) -> None:
    """The rows of a DataFrame are of no single file, unless the query says so; window and time are known."""
    pipe.put({"a.txt": b"a1\na2\n"})
    pipe.sink_options = {"audit": ["_file", "_window_key", "_loaded"]}
    pipe.function = Sql("SELECT count(*) AS n FROM records")
    ref = pipe.plan()
    with pytest.raises(FunctionError, match="returns no column '_file'"):
        pipe.read(ref)
    pipe.sink_options = {"audit": ["_window_key", "_loaded"]}
    pipe.run(clear_number=1)

    assert pipe.rows() == [{"n": 2, "_window_key": "w", "_loaded": START}]


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_partitions_by_the_key_of_the_window(tmp_path: Path, kind: str) -> None:
    """An audit column need not be asked for twice; a rebuild replaces the window's files, an undo takes them away."""
    pipe = Pipe(folder=tmp_path, submitter=ReadHere(), kind=kind, sink_options={"partition_by": ["_window_key"]})
    for key in ("2026-01-01", "2026-01-02"):
        pipe.put({f"{key}.txt": f"of {key}\n".encode()})
        pipe.run(key)
    pipe.run("2026-01-02", clear_number=1)
    assert pipe.values() == ["of 2026-01-01", "of 2026-01-02"]
    if kind == "parquet":
        assert [path.name for path in sorted(pipe.out.iterdir())] == [f"_window_key=2026-01-0{n}" for n in (1, 2)]
    undo(pipe.env, get_window(pipe.env.ledger, "2026-01-01"), who="me")
    assert pipe.values() == ["of 2026-01-02"]
    pipe.close()
