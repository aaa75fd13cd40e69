"""What columns tables hold, what they keep of them, and the credentials by which they are reached."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
import pytest

from airflow_provider_blockread.errors import FunctionError, OptionsError
from airflow_provider_blockread.options import DeltaSink
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.storage.backends.registry import table_options
from tests.sinks.kinds import STORES, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A table that is not made yet."""
    return Bench("delta", str(tmp_path / "out"))


@pytest.mark.parametrize(
    "kind",
    [
        pa.uint64(),
        pa.time64("us"),
        pa.float16(),
        pa.list_(pa.uint8()),
        pa.struct([("x", pa.null())]),
        pa.timestamp("us", "Europe/Zurich"),
        pa.timestamp("us", "+00:00"),
        pa.decimal128(5, -2),
    ],
    ids=str,
)
def test_a_type_that_no_table_holds(bench: Bench, kind: pa.DataType) -> None:
    """An unsigned number would come back as another one: refused where the columns are declared, and by the writer."""
    with pytest.raises(OptionsError, match="which tables do not hold; cast it"):
        bench.sink.prepare(pa.schema([("x", kind)]), "")
    name = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
    with pytest.raises(FunctionError, match="which tables do not hold; cast it"):
        bench.sink.writer(bench.target, name, None).write(pa.RecordBatch.from_arrays([pa.nulls(1, kind)], ["x"]))


@pytest.mark.parametrize("place", ["the table", "a struct"])
def test_names_that_differ_by_case_only(bench: Bench, place: str) -> None:
    """A table has one column of both names, and its structs one field."""
    rows = pa.schema([("a", pa.int64()), ("A", pa.int64())])
    with pytest.raises(OptionsError, match=r"do not distinguish columns 'a' and 'A'; rename one"):
        bench.sink.prepare(pa.schema([("s", pa.list_(pa.struct(rows)))]) if place == "a struct" else rows, "")


def test_every_type_comes_back_and_its_bounds_are_in_the_log(bench: Bench) -> None:
    """Two engines read what was written, and the log lets them skip files."""
    day, at = "2026-01-02", "2026-01-02T03:04:05.678901"
    columns = {
        "flag": pa.array([True, None]),
        "small": pa.array([-5, 7], pa.int8()),
        "number": pa.array([-(2**60), 2**60]),
        "part": pa.array([0.5, None]),
        "text": pa.array(["a", "z" * 100]),
        "raw": pa.array([b"x", b"\0"]),
        "day": pa.array([day, None]).cast(pa.date32()),
        "at": pa.array([at, at]).cast(pa.timestamp("us")),
        "utc": pa.array([at, at]).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
        "price": pa.array(["1.25", "2.50"]).cast(pa.decimal128(10, 2)),
        "many": pa.array([[1, 2], []], pa.list_(pa.int64())),
        "inner": pa.array([{"x": 1}, {"x": 2}], pa.struct([("x", pa.int64())])),
    }
    name = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, None)
    writer.write(pa.RecordBatch.from_pydict(columns))
    files = writer.close()
    bench.apply(bench.steps(files))

    read = pl.read_delta(bench.option.uri).to_arrow().to_pydict()
    assert read == pa.table(columns).to_pydict()
    (action,) = (
        json.loads(line)["add"]
        for line in (Path(bench.option.uri) / "_delta_log" / f"{0:020}.json").read_text().splitlines()
        if "add" in json.loads(line)
    )
    stats = json.loads(action["stats"])
    assert stats["numRecords"] == 2
    assert stats["minValues"] == {"small": -5, "number": -(2**60), "part": 0.5, "day": day, "at": at, "utc": f"{at}Z"}
    assert stats["maxValues"]["number"] == 2**60
    assert (stats["nullCount"]["flag"], stats["nullCount"]["text"]) == (1, 0)
    names = [file.uri.removeprefix("file://") for file in files]
    assert duckdb.read_parquet(names).min("number").fetchall() == [(-(2**60),)]


def test_a_store_without_an_atomic_commit() -> None:
    """A table there would lose commits, so it is refused."""
    with pytest.raises(OptionsError, match=r"cannot be in sftp://.*choose a local disk, s3:"):
        make_sink(STORES, DeltaSink("sftp://me@host/lake")).prepare(None, "")


@pytest.mark.parametrize(
    ("uri", "given", "expected"),
    [
        ("s3://b/t", {}, {}),
        (
            "s3://b/t",
            {"key": "k", "secret": "s", "endpoint_url": "http://h:1", "client_kwargs": {"region_name": "r"}},
            {
                "aws_access_key_id": "k",
                "aws_secret_access_key": "s",
                "aws_endpoint_url": "http://h:1",
                "aws_region": "r",
                "aws_allow_http": "true",
            },
        ),
        ("s3://b/t", {"anon": True}, {"aws_skip_signature": "true"}),
        ("abfs://c@a.dfs.core.windows.net/t", {"account_key": "k"}, {"azure_storage_account_key": "k"}),
        ("gs://b/t", {"token": {"a": "b"}}, {"google_service_account_key": '{"a": "b"}'}),
        ("gs://b/t", {"token": "anon"}, {"google_skip_signature": "true"}),
        ("file:///t", {"auto_mkdir": True}, {}),
    ],
)
def test_credentials_of_a_connection_reach_the_library(
    uri: str, given: dict[str, object], expected: dict[str, str]
) -> None:
    """They are those that files are written with, under the library's names."""
    assert table_options(uri, given) == expected
