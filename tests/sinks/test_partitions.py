"""Partitioned sinks: each row is in the file of its partition, and readers skip and find it by that."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FunctionError, OptionsError, ProofError, RowError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import ParquetSink
from airflow_provider_blockread.sinks import partitions
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.storage import uris
from tests.sinks.kinds import KINDS, STORES, Bench, opened_iceberg

_KINDS = ("parquet", "delta", "iceberg")
_NAMES = [AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=n) for n in range(3)]


def opened(kind: str, place: Path, *columns: str, **options: Any) -> Bench:
    """Return a sink that is partitioned by columns."""
    return Bench(kind, str(place / "out"), {"partition_by": columns, **options})


def staged(bench: Bench, *batches: dict[str, Any], attempt: int = 0) -> list[OutputFile]:
    """Return the files of a task that wrote batches."""
    writer = bench.sink.writer(bench.target, _NAMES[attempt], None)
    for batch in batches:
        writer.write(pa.RecordBatch.from_pydict(batch))
    return writer.close()


def rows(bench: Bench) -> list[tuple[Any, ...]]:
    """Return the columns `id` and `day` as a reader of Hive's folders, or of the table, finds them."""
    if bench.kind == "parquet":
        kept = ds.partitioning(pa.schema([("day", pa.date32())]), flavor="hive")
        found = ds.dataset(bench.place, format="parquet", partitioning=kept).to_table().to_pylist()
    elif bench.kind == "delta":
        found = pl.read_delta(bench.place).to_dicts()
    else:
        found = pl.scan_iceberg(opened_iceberg(bench.place)).collect().to_dicts()
    return sorted((row["id"], row["day"]) for row in found)


_MAY, _JUNE = date(2026, 5, 1), date(2026, 6, 1)


@pytest.mark.parametrize("kind", _KINDS)
def test_publish_replace_and_undo(tmp_path: Path, kind: str) -> None:
    """A rebuild may have other partitions than what it replaces, and null is one, too."""
    bench = opened(kind, tmp_path, "day")
    old = staged(bench, {"id": [1, 2, 3], "day": [_MAY, _JUNE, _MAY]}, {"id": [4], "day": pa.nulls(1, pa.date32())})
    assert [(file.partition["day"], file.rows) for file in old] == [("2026-05-01", 2), ("2026-06-01", 1), (None, 1)]
    assert [bench.sink.count(file) for file in old] == [2, 1, 1]
    bench.apply(bench.steps(old))
    assert rows(bench) == [(1, _MAY), (2, _JUNE), (3, _MAY), (4, None)]
    assert not bench.sink.is_empty()

    new = staged(bench, {"id": [5], "day": [_JUNE]}, attempt=1)
    steps = bench.steps(new, old)
    bench.marker = bench.marker_of(generation=2)
    for _ in range(2):
        bench.apply(steps)
    assert rows(bench) == [(5, _JUNE)]
    assert bench.undo(new) == 1
    assert bench.sink.is_empty()


def test_readers_skip_files(tmp_path: Path) -> None:
    """The folders of Hive are as Spark, DuckDB and polars read them, whatever is in a value."""
    bench = opened("parquet", tmp_path, "name", "flag")
    names = ["a b", "a/b", "x=y", "100%", "\u00e4\u1234", "'\"", ".."]
    bench.apply(bench.steps(staged(bench, {"id": range(7), "name": names, "flag": [True] * 6 + [False]})))
    expected = sorted(zip(names, range(7), strict=True))
    found = duckdb.read_parquet(f"{bench.place}/**/*.parquet", hive_partitioning=True)
    assert sorted(found.select("name", "id").fetchall()) == expected
    read = pl.read_parquet(f"{bench.place}/**/*.parquet", hive_partitioning=True)
    assert sorted(read.select("name", "id").rows()) == expected

    folders = {uris.relative_to(bench.sink.placed(f).uri, STORES.canonical(bench.place)) for f in staged(
        bench, {"id": [1], "name": ["a/b"], "flag": [True]}, attempt=1)}  # fmt: skip
    assert {str(folder).rpartition("/")[0] for folder in folders} == {"name=a%2Fb/flag=true"}


@given(
    batches=st.lists(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["x", "y", None])), max_size=9), max_size=5),
    tight=st.booleans(),
)
def test_every_row_is_in_its_partition_once(batches: list[list[tuple[int, str | None]]], *, tight: bool) -> None:
    """For any batches, however little may be held in memory and open."""
    sizes = {"row_group_bytes": 8, "file_bytes": 30} if tight else {}
    option = ParquetSink("memory://out/", partition_by=("number", "name"), **sizes)
    sink = make_sink(STORES, option)
    schema = pa.schema([("number", pa.int64()), ("name", pa.string()), ("id", pa.int64())])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(partitions, "_OPEN", 2 if tight else 64)
        writer = sink.writer(sink.prepare(schema, "memory://stage/"), _NAMES[0], schema)
        for start, batch in enumerate(batches):
            columns = {
                "number": [number for number, _ in batch],
                "name": [name for _, name in batch],
                "id": [100 * start + place for place in range(len(batch))],
            }
            writer.write(pa.RecordBatch.from_pydict(columns, schema=schema))
        files = writer.close()
    found = []
    for file in files:
        with STORES.open_read(file.uri) as opened_file:
            ids = pa.parquet.read_table(opened_file)["id"].to_pylist()
        found += [(int(str(file.partition["number"])), file.partition["name"], number) for number in ids]
        assert (sink.count(file), len(ids)) == (file.rows, file.rows)

    assert len({file.uri for file in files}) == len(files)
    assert sorted(found, key=lambda row: row[2]) == [
        (number, name, 100 * start + place)
        for start, batch in enumerate(batches)
        for place, (number, name) in enumerate(batch)
    ]
    writer.abort()
    assert list(STORES.list_names("memory://stage/")) == []


@pytest.mark.parametrize("kind", _KINDS)
def test_too_many_partitions(tmp_path: Path, kind: str) -> None:
    """A column of ten thousand values is refused by the first task that meets them, or by the window's commit."""
    bench = opened(kind, tmp_path, "id")
    many = {"id": range(10_000), "value": ["x"] * 10_000}
    with pytest.raises(FunctionError, match=r"more than 1,000 partitions; choose columns of fewer values than id"):
        staged(bench, many)
    few = opened(kind, tmp_path, "id", max_partitions=2)
    files = [staged(few, {"id": [n, 1], "value": ["x", "y"]}, attempt=n) for n in range(3)]
    with pytest.raises(ProofError, match="a window has 3 partitions; choose columns of fewer values"):
        few.steps([file for of_task in files for file in of_task])

    more = opened(kind, tmp_path, "id", max_partitions=3)
    more.apply(more.steps([file for of_task in files for file in of_task]))
    assert len(more.sink.steps([], more.placed(files[0]))) > 0


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"value": pa.string()}, "there is no column 'day' to partition by"),
        ({"day": pa.float64(), "value": pa.string()}, "column 'day' is double; partition by text"),
        ({"day": pa.string()}, "leave one for the rows"),
    ],
)
def test_rows_that_cannot_be_partitioned(
    tmp_path: Path, kind: str, columns: dict[str, pa.DataType], problem: str
) -> None:
    """Refused before anything is read where the columns are known, else by the writer."""
    bench = opened(kind, tmp_path, "day")
    with pytest.raises(OptionsError, match=problem):
        bench.sink.prepare(pa.schema(list(columns.items())), "")
    with pytest.raises(FunctionError, match=problem):
        staged(bench, {name: pa.nulls(1, kind) for name, kind in columns.items()})

    bench.apply(bench.steps(staged(bench, {"id": [1], "day": [_MAY]})))
    assert rows(bench) == [(1, _MAY)]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("", "an empty text"),
        ("x" * 251, "the folder b'name=x.*too long for a partition"),
        ("/" * 84, "too long for a partition"),
        ("__HIVE_DEFAULT_PARTITION__", "the text __HIVE_DEFAULT_PARTITION__, which in a partition means null"),
    ],
)
def test_a_value_that_is_no_partition(tmp_path: Path, value: str, problem: str) -> None:
    """The error says which row it is, so that a function can replace it."""
    bench = opened("parquet", tmp_path, "name")
    with pytest.raises(RowError, match=problem) as found:
        staged(bench, {"id": [1, 2], "name": ["a", value]})
    assert found.value.row == 1

    files = staged(bench, {"id": [1, 2], "name": ["x" * 250, "/" * 83]})
    bench.apply(bench.steps(files))
    assert len(files) == 2


def test_a_long_name_of_a_column(tmp_path: Path) -> None:
    """It counts, too: what passes the read can be published, and so can null."""
    long = "c" * 228
    bench = opened("parquet", tmp_path, long)
    with pytest.raises(RowError, match="too long for a partition; partition by another column"):
        staged(bench, {"id": [1], long: ["x" * 27]})
    bench.apply(bench.steps(staged(bench, {"id": [1, 2], long: ["x" * 26, None]}, attempt=1)))

    other = opened("parquet", tmp_path, long + "c")
    with pytest.raises(RowError, match="too long for a partition"):
        staged(other, {"id": [1], long + "c": pa.nulls(1, pa.string())})


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_with_other_partitions(tmp_path: Path, kind: str) -> None:
    """A window is not published with partitions that the table has not."""
    bench = opened(kind, tmp_path, "day")
    files = staged(bench, {"id": [1], "day": [_MAY]})
    bench.apply(bench.steps(files))
    schema = pa.schema([("id", pa.int64()), ("day", pa.date32())])
    plain = make_sink(STORES, KINDS[kind].option(bench.place))
    for known in (schema, None):  # a function may not say which columns it returns
        with pytest.raises(OptionsError, match=r"is partitioned by .*day.*give partition_by the same columns"):
            plain.prepare(known, "")

    bench.sink.prepare(schema, "")


def test_a_sweep_looks_into_partitions(tmp_path: Path) -> None:
    """What a dead publisher left beside a window's files goes, hidden halves of copies too."""
    bench = opened("parquet", tmp_path, "day")
    dead = staged(bench, {"id": [1], "day": [_MAY]})
    bench.apply(bench.steps(dead))
    new = staged(bench, {"id": [2], "day": [_JUNE]}, attempt=1)
    bench.apply(bench.steps(new))
    folder = uris.parent(bench.sink.placed(new[0]).uri)
    hidden = f"{folder}/.part-wab12-g1-00000-e1-t9-0000.parquet.1f.tmp"
    STORES.write_bytes_atomic(hidden, b"x")
    removed = bench.sink.sweep("ab12", [bench.sink.placed(new[0]).uri], [bench.sink.placed(dead[0]).uri])

    assert removed == sorted([hidden, bench.sink.placed(dead[0]).uri])
    assert rows(bench) == [(2, _JUNE)]


def test_a_column_that_is_named_twice() -> None:
    """Folders would be nested in themselves."""
    with pytest.raises(OptionsError, match="names a column twice; name each once"):
        ParquetSink("/out", partition_by=["day", "day"])

    assert ParquetSink("/out", partition_by=["day"]).partition_by == ["day"]
