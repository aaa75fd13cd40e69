"""Columns that are taken from the path of a row's file, and partitions by them and by the date of the window."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FunctionError, OptionsError
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import SINKS, ArrowFunction, ParquetSink, Sql
from airflow_provider_blockread.options.sinks import AUDIT_COLUMNS, ColumnarSink
from airflow_provider_blockread.spark.tasks.audit import path_value, window_date
from airflow_provider_blockread.steps.upkeep.withdrawing import undo
from tests.pipeline.make import Pipe, ReadHere

_EVERY = [name for name, option in SINKS.items() if issubclass(option, ColumnarSink)]
_FILES = {
    "region=eu/day=2026-01-01/a.txt": b"a1\na2\n",
    "region=us%2Feast/day=2026-01-01/b.txt": b"b1\n",
    "region=__HIVE_DEFAULT_PARTITION__/day=2026-01-02/c.txt": b"c1\n",
}
_ROWS = [("a1", "eu", "01"), ("a2", "eu", "01"), ("b1", "us/east", "01"), ("c1", None, "02")]


def made(folder: Path, kind: str, **options: Any) -> Pipe:
    """Return a pipeline over files in Hive's folders, of several blocks."""
    pipe = Pipe(folder=folder, submitter=ReadHere(), kind=kind, block_size=3, sink_options=options)
    pipe.put(_FILES)
    return pipe


@pytest.mark.slow
@pytest.mark.parametrize("kind", _EVERY)
def test_in_every_sink(tmp_path: Path, kind: str) -> None:
    """A row has what the folders of its file say, escapes and null as Hive writes them."""
    pipe = made(tmp_path, kind, path_columns=["region", "day"])
    pipe.run()
    pipe.run(clear_number=1)
    pipe.close()

    rows = sorted(pipe.rows(), key=lambda row: str(row["value"]))
    assert rows == [{"value": v, "region": region, "day": f"2026-01-{day}"} for v, region, day in _ROWS]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_partitions(tmp_path: Path, kind: str) -> None:
    """Each row is in its folder, as other engines read these; a rebuild replaces the rows, an undo takes them away."""
    pipe = made(tmp_path, kind, path_columns=["region", "day"], partition_by=["day", "region", "_window_date"])
    for number in range(2):
        pipe.run("of 2026-02-03", clear_number=number)
    assert pipe.values() == [value for value, _, _ in _ROWS]
    if kind == "parquet":
        folders = {str(file.relative_to(pipe.out).parent) for file in pipe.out.rglob("*.parquet")}
        assert folders == {
            f"day=2026-01-{day}/region={region}/_window_date=2026-02-03"
            for day, region in (("01", "eu"), ("01", "us%2Feast"), ("02", "__HIVE_DEFAULT_PARTITION__"))
        }
        pattern = f"{pipe.out}/**/*.parquet"
        expected = sorted(_ROWS, key=str)
        polars = pl.read_parquet(pattern, hive_partitioning=True)
        polars = polars.select("value", "region", pl.col("day").dt.to_string("%d"))
        by_duckdb = duckdb.read_parquet(pattern, hive_partitioning=True).select("value, region, strftime(day, '%d')")
        arrow = ds.dataset(str(pipe.out), partitioning="hive", ignore_prefixes=["."]).to_table().to_pylist()
        assert sorted(polars.rows(), key=str) == sorted(by_duckdb.fetchall(), key=str) == expected
        assert sorted(((r["value"], r["region"], r["day"][-2:]) for r in arrow), key=str) == expected
    undo(pipe.env, get_window(pipe.env.ledger, "of 2026-02-03"), who="me")
    assert pipe.values() == []
    pipe.close()


def test_a_file_without_such_a_folder(tmp_path: Path) -> None:
    """The window fails and says which file it is; without it, all is published."""
    pipe = made(tmp_path, "parquet", path_columns=["region"])
    pipe.put({"stray.txt": b"x\n"})
    with pytest.raises(FunctionError, match=r"stray\.txt has no folder region=.*leave the file out"):
        pipe.run()
    assert not pipe.out.exists()
    pipe.sink_options = {}
    pipe.run(clear_number=1)
    assert pipe.values() == ["a1", "a2", "b1", "c1", "x"]
    pipe.close()


def same(batch: Any) -> Any:
    """Return the batch."""
    return batch


def test_rows_that_have_such_a_column(tmp_path: Path) -> None:
    """Which of the two is meant is not guessed: refused before anything is read."""
    pipe = made(tmp_path, "parquet", path_columns=["value"])
    ref = pipe.plan()
    with pytest.raises(FunctionError, match="have a column 'value' of their own; leave it out of path_columns"):
        pipe.read(ref)
    pipe.sink_options = {"path_columns": ["region"]}
    pipe.function = ArrowFunction("tests.pipeline.functions.test_path_columns:same")
    pipe.run(clear_number=1)
    assert {row["region"] for row in pipe.rows()} == {"eu", "us/east", None}
    pipe.close()


@pytest.mark.spark
def test_behind_a_query(pipe: Pipe) -> None:
    """Rows of a DataFrame have them if the query returns the name of the file."""
    pipe.put(_FILES)
    pipe.sink_options = {"path_columns": ["region"]}
    pipe.function = Sql("SELECT value FROM records")
    ref = pipe.plan()
    with pytest.raises(FunctionError, match=r"does not return '_file', from which.*ask for it by columns=\['_file'\]"):
        pipe.read(ref)
    pipe.function = Sql("SELECT _file, upper(value) AS value FROM records", columns=["_file"])
    pipe.run(clear_number=1)

    assert sorted((row["value"], str(row["region"])) for row in pipe.rows()) == [
        (value.upper(), str(region)) for value, region, _ in _ROWS
    ]


def test_a_window_without_a_date(tmp_path: Path) -> None:
    """Refused before its files are taken, so that a window with a date takes them; the same where it is read."""
    pipe = made(tmp_path, "parquet", partition_by=["_window_date"])
    with pytest.raises(OptionsError, match=r"'no date' has no date such as 2026-01-31"):
        pipe.plan("no date")
    pipe.sink_options = {"partition_by": ["_window_key"]}
    pipe.plan("no date")
    pipe.sink_options = {"partition_by": ["_window_date"]}
    with pytest.raises(OptionsError, match=r"'no date' has no date such as 2026-01-31"):
        pipe.read(pipe.plan("no date"))
    pipe.sink_options = {"partition_by": ["_window_key"]}
    pipe.run("no date", clear_number=1)
    assert len(pipe.rows()) == 4
    pipe.close()


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("2026-01-31", "2026-01-31"),
        ("partition 2026-01-31T00:00:00+00:00", "2026-01-31"),
        ("2026-01-31T00:00:00+00:00/2026-02-01T00:00:00+00:00", "2026-01-31"),
        ("dag/group/scheduled__2026-01-31T00:00:00+00:00", "2026-01-31"),
        ("2026-13-31, then 2024-02-29", "2024-02-29"),
        ("12026-01-310", "None"),
        ("\u0662026-01-31", "None"),
        ("", "None"),
    ],
)
def test_the_date_of_a_key(key: str, found: str) -> None:
    """The first one that there is."""
    assert str(window_date(key)) == found


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8")))
def test_any_value_comes_back(name: str, value: str) -> None:
    """Whatever a folder was named by, as Hive escapes it; an empty one is null."""
    path = f"s3://lake/{quote(name, safe='')}={quote(value, safe='')}/x=1.csv"
    assert path_value(path, name) == (value or None)


def test_hostile_folders() -> None:
    """The last folder of a name counts, names of files never do, and what is no escaped text stays as it is."""
    assert path_value("/in/a=1/b=x/a=2/c=3", "a") == "2"
    assert path_value("/in/a=%FF/x", "a") == "%FF"
    assert path_value("/in/a=..%2F..%2Fetc/x", "a") == "../../etc"
    with pytest.raises(FunctionError, match=r"has no folder c="):
        path_value("/in/a=1/c=3", "c")


def test_an_option_that_is_no_list() -> None:
    """A text would be taken for a list of its letters, and an audit column has another meaning."""
    with pytest.raises(OptionsError, match=r"path_columns must be a list, .*; write \['day'\]"):
        ParquetSink("/out", path_columns="day")
    with pytest.raises(OptionsError, match="path_columns has _file, which is an audit column"):
        ParquetSink("/out", path_columns=["_file"])

    assert ParquetSink("/out", path_columns=["day"], audit=["_file"]).path_columns == ["day"]
    assert "_window_date" in AUDIT_COLUMNS
