"""How the files of columnar sinks are arranged: in order, each column encoded and compressed as asked for."""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FunctionError, OptionsError, TransientError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import DeltaSink, ParquetSink, parse
from airflow_provider_blockread.options.sinks import ENCODINGS
from airflow_provider_blockread.sinks.columnar import sorting
from airflow_provider_blockread.sinks.columnar.sorting import Sorter, in_order
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.registry import make_sink
from tests.sinks.kinds import STORES, Bench, opened_iceberg

_NAME = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
_SCHEMA = pa.schema(
    {
        "flag": pa.bool_(),
        "number": pa.int32(),
        "part": pa.float64(),
        "text": pa.string(),
        "day": pa.date32(),
        "at": pa.timestamp("us"),
        "list": pa.list_(pa.int64()),
        "id": pa.int64(),
    }
)
_ROWS = st.fixed_dictionaries(
    {
        "flag": st.none() | st.booleans(),
        "number": st.none() | st.integers(-3, 3),
        "part": st.none() | st.sampled_from([0.5, -1.0, float("inf")]),
        "text": st.none() | st.sampled_from(["a", "b", "\u00e4", "x" * 50]),
        "day": st.none() | st.sampled_from([date(2026, 1, 1), date(1969, 1, 1)]),
        "at": st.none() | st.sampled_from([datetime(2026, 1, 1, 2), datetime(1969, 1, 1)]),  # noqa: DTZ001
        "list": st.none() | st.lists(st.integers(0, 3), max_size=2),
    }
)
_SORTED = ["flag", "number", "part", "text", "day", "at"]
_FITTING = {
    "flag": ["plain"],
    "number": ["plain", "dictionary", "delta_binary_packed", "byte_stream_split"],
    "part": ["plain", "dictionary", "byte_stream_split"],
    "text": ["plain", "dictionary", "delta_length_byte_array", "delta_byte_array"],
    "at": ["delta_binary_packed", "byte_stream_split"],
}


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Return options of a sink of Parquet files, at random."""
    tight = draw(st.sampled_from([{}, {"row_group_bytes": 200}, {"row_group_bytes": 100, "file_bytes": 900}]))
    parts = draw(st.lists(st.sampled_from(["flag", "number", "text", "day"]), unique=True, max_size=2))
    free = [name for name in _SORTED if name not in parts]
    encoded = draw(st.lists(st.sampled_from([name for name in _FITTING if name in free]), unique=True))
    return {
        **tight,
        "partition_by": tuple(parts),
        "sort_by": tuple(draw(st.lists(st.sampled_from(_SORTED), unique=True, max_size=3))),
        "encodings": {name: draw(st.sampled_from(_FITTING[name])) for name in encoded},
        "codecs": {
            name: draw(st.sampled_from(["snappy", "zstd", "gzip", "lz4", "none"]))
            for name in draw(st.lists(st.sampled_from([*free, "list"]), unique=True))
        },
    }


def key(row: dict[str, Any], columns: tuple[str, ...]) -> tuple[Any, ...]:
    """Return what rows are compared by: nulls are last."""
    return tuple((row[name] is None, row[name] if row[name] is not None else 0) for name in columns)


@settings(deadline=None)
@given(batches=st.lists(st.lists(_ROWS, max_size=12), max_size=6), chosen=options(), runs=st.sampled_from([2, 64]))
def test_rows_come_out_as_they_went_in(batches: list[list[dict[str, Any]]], chosen: dict[str, Any], runs: int) -> None:
    """For any rows and options: each once, in the file of its partition, each file in order, as the footer says."""
    rows = [row | {"id": 100 * place + at} for place, batch in enumerate(batches) for at, row in enumerate(batch)]
    sink = make_sink(STORES, ParquetSink("memory://arranged/", **chosen))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_RUNS", runs)
        writer = sink.writer(sink.prepare(_SCHEMA, "memory://arranged.stage/"), _NAME, _SCHEMA)
        start = 0
        for batch in batches:
            writer.write(pa.RecordBatch.from_pylist(rows[start : start + len(batch)], schema=_SCHEMA))
            start += len(batch)
        files = writer.close()

    found = [(file, _read(file)) for file in files]
    parts, order = chosen["partition_by"], tuple(n for n in chosen["sort_by"] if n not in chosen["partition_by"])
    by_id = {row["id"]: row for row in rows}
    assert Counter(row["id"] for _, table in found for row in table.to_pylist()) == Counter(by_id.keys())
    for file, table in found:
        for row in table.to_pylist():
            assert row == {name: value for name, value in by_id[row["id"]].items() if name not in parts}
            assert [_named(by_id[row["id"]][name]) for name in parts] == [file.partition[name] for name in parts]
        keys = [key(row, order) for row in table.to_pylist()]
        assert keys == sorted(keys)
        assert (sink.count(file), table.num_rows) == (file.rows, file.rows)
        _check_footer(_footer(file), order, chosen)
    writer.abort()
    assert list(STORES.list_names("memory://arranged.stage/")) == []


def _named(value: object) -> str | None:
    return None if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _read(file: OutputFile) -> pa.Table:
    with STORES.open_read(file.uri) as opened:
        return pq.read_table(opened)


def _footer(file: OutputFile) -> pq.FileMetaData:
    with STORES.open_read(file.uri) as opened:
        return pq.read_metadata(opened)


def _check_footer(footer: pq.FileMetaData, order: tuple[str, ...], chosen: dict[str, Any]) -> None:
    """Compare what a footer says with what was asked for."""
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        columns = [group.column(place) for place in range(group.num_columns)]
        assert [columns[found.column_index].path_in_schema for found in group.sorting_columns or ()] == list(order)
        for column in columns:
            name = column.path_in_schema.split(".")[0]
            codec = {"none": "uncompressed"}.get(*[chosen["codecs"].get(name, "snappy")] * 2)
            assert column.compression.lower() == codec
            if encoding := chosen["encodings"].get(name):
                assert {"dictionary": "RLE_DICTIONARY"}.get(encoding, encoding.upper()) in column.encodings


@settings(deadline=None)
@given(
    tables=st.lists(
        st.lists(st.tuples(st.none() | st.integers(0, 5), st.none() | st.floats()), max_size=20), max_size=9
    ),
    runs=st.integers(2, 4),
    pieces=st.integers(1, 5),
)
def test_merged_runs_are_as_one_sort(
    tables: list[list[tuple[int | None, float | None]]], runs: int, pieces: int
) -> None:
    """However runs are cut and merged: the order of a stable sort of all rows, NaN and nulls included."""
    made = [
        pa.table({"n": pa.array([n for n, _ in rows], pa.int64()), "f": pa.array([f for _, f in rows], pa.float64()),
                  "id": pa.array([100 * place + at for at in range(len(rows))], pa.int64())})
        for place, rows in enumerate(tables)
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_RUNS", runs)
        patch.setattr(sorting, "_PIECES", pieces)
        sorter = Sorter(["n", "f"])
        for table in made:
            sorter.add(table)
        found = [number for table in sorter.rows() for number in table["id"].to_pylist()]

    assert found == (in_order(pa.concat_tables(made), ["n", "f"])["id"].to_pylist() if made else [])
    assert not sorter.is_open


def staged(sink: Any, rows: pa.Table, folder: str) -> list[OutputFile]:
    """Return the files of a task that wrote rows."""
    writer = sink.writer(sink.prepare(rows.schema, folder), _NAME, rows.schema)
    for batch in rows.to_batches(max_chunksize=1000):
        writer.write(batch)
    files: list[OutputFile] = writer.close()
    return files


def test_files_of_many_row_groups_are_sorted(tmp_path: Path) -> None:
    """The rows of a file are those that came one after another, so that memory holds a row group; none is left."""
    rows = pa.table({"id": [n * 7919 % 20_000 for n in range(20_000)], "text": [f"text {n}" for n in range(20_000)]})
    option = ParquetSink(str(tmp_path / "out"), sort_by=["id"], row_group_bytes=20_000, file_bytes=200_000)
    before = len(list(Path("/proc/self/fd").iterdir()))
    files = staged(make_sink(STORES, option), rows, str(tmp_path / "stage"))
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    tables = [pq.read_table(file.uri.removeprefix("file://")) for file in files]

    assert 2 <= len(files) <= 5
    assert all(table["id"].to_pylist() == sorted(table["id"].to_pylist()) for table in tables)
    assert sorted(pa.concat_tables(tables).to_pylist(), key=str) == sorted(rows.to_pylist(), key=str)
    assert min(_footer(file).num_row_groups for file in files[:-1]) > 3


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_other_readers(tmp_path: Path, kind: str) -> None:
    """Engines that did not write them read every encoding, from directories and tables."""
    wanted = {
        "id": "delta_binary_packed",
        "name": "delta_byte_array",
        "text": "delta_length_byte_array",
        "part": "byte_stream_split",
    }
    bench = Bench(kind, str(tmp_path / "out"), {"sort_by": ["name"], "encodings": wanted, "codecs": {"text": "zstd"}})
    rows = [{"id": n, "name": f"n{n % 10}", "text": f"t{n}", "part": n / 8} for n in range(1000)]
    bench.apply(bench.steps(staged(bench.sink, pa.Table.from_pylist(rows), bench.target.folder)))
    if kind == "parquet":
        frames = [pl.read_parquet(f"{bench.place}/*.parquet"), duckdb.read_parquet(f"{bench.place}/*.parquet").pl()]
    elif kind == "delta":
        frames = [pl.read_delta(bench.place), pl.from_arrow(DeltaTable(bench.place).to_pyarrow_table())]
    else:
        table = opened_iceberg(bench.place)
        frames = [pl.scan_iceberg(table).collect(), pl.from_arrow(table.scan().to_arrow())]

    for frame in frames:
        assert isinstance(frame, pl.DataFrame)
        assert frame["name"].is_sorted()
        assert sorted(frame.to_dicts(), key=lambda row: int(row["id"])) == rows


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
@pytest.mark.parametrize(
    ("chosen", "problem"),
    [
        ({"sort_by": ["day"]}, "there is no column 'day' for sort_by; the columns are id, list"),
        ({"sort_by": ["list"]}, "which has no order; leave it out of sort_by"),
        ({"encodings": {"id": "delta_byte_array"}}, "'id' is int64, which delta_byte_array does not encode"),
        ({"encodings": {"list": "plain"}}, "which plain does not encode; leave it out"),
        ({"codecs": {"day": "zstd"}}, "there is no column 'day' for codecs"),
    ],
)
def test_what_columns_do_not_have(tmp_path: Path, kind: str, chosen: dict[str, Any], problem: str) -> None:
    """Refused before anything is read where the columns are known, else by the writer; without it, rows are taken."""
    rows = pa.table({"id": [2, 1], "list": [[1], [2]]})
    bench = Bench(kind, str(tmp_path / "out"), chosen)
    with pytest.raises(OptionsError, match=problem):
        bench.sink.prepare(rows.schema, "")
    writer = bench.sink.writer(bench.target, _NAME, None)
    with pytest.raises(FunctionError, match=problem):
        writer.write(rows.to_batches()[0])

    plain = Bench(kind, bench.place, {"sort_by": ["id"], "codecs": {"list": "zstd"}})
    plain.apply(plain.steps(staged(plain.sink, rows, plain.target.folder)))


def test_partition_columns_are_in_no_file(tmp_path: Path) -> None:
    """An encoding of one would be without meaning; to sort by it changes nothing."""
    rows = pa.table({"id": [2, 1, 3], "day": ["b", "a", "a"]})
    wrong = Bench("parquet", str(tmp_path / "out"), {"partition_by": ["day"], "encodings": {"day": "plain"}})
    with pytest.raises(OptionsError, match="is in the names of folders, not in files; leave it out"):
        wrong.sink.prepare(rows.schema, "")
    bench = Bench("parquet", str(tmp_path / "out"), {"partition_by": ["day"], "sort_by": ["day", "id"]})
    files = staged(bench.sink, rows, bench.target.folder)

    assert sorted(_read(file)["id"].to_pylist() for file in files) == [[1, 3], [2]]


def test_a_local_disk_without_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The task fails, to be retried; nothing is left of it, and a retry completes."""
    rows = pa.table({"id": list(range(5000))})
    option = ParquetSink(str(tmp_path / "out"), sort_by=["id"], row_group_bytes=8000)
    sink = make_sink(STORES, option)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(sorting, "_pieces", full)
        writer = sink.writer(sink.prepare(rows.schema, str(tmp_path / "stage")), _NAME, rows.schema)
        first, *_, last = rows.to_batches(max_chunksize=1000)
        writer.write(first)
        with pytest.raises(TransientError, match="No space left on device"):
            writer.write(last)
        writer.abort()
    assert list(STORES.list_names(str(tmp_path / "stage"))) == []

    assert sum(file.rows for file in staged(sink, rows, str(tmp_path / "stage"))) == 5000


def test_from_a_command_line() -> None:
    """Encodings and codecs are pairs; the error says how they are written."""
    texts = {"uri": "/out", "encodings": "id=delta_binary_packed,a=b=plain", "codecs": "id=zstd", "sort_by": "id,a"}
    made = parse(ParquetSink, texts)
    assert made.encodings == {"id": "delta_binary_packed", "a=b": "plain"}
    assert (made.codecs, made.sort_by) == ({"id": "zstd"}, ("id", "a"))
    with pytest.raises(OptionsError, match=r"'zstd' must be name=value; write several as codecs=one=x,two=y"):
        parse(ParquetSink, texts | {"codecs": "zstd"})
    with pytest.raises(OptionsError, match="encodings of id must be one of plain, dictionary, delta_binary_packed"):
        DeltaSink("/out", encodings={"id": "rle"})
    with pytest.raises(OptionsError, match="codecs of id must be one of snappy, zstd, gzip, lz4, none, not 'brotli'"):
        DeltaSink("/out", codecs={"id": "brotli"})

    assert all(DeltaSink("/out", encodings={"id": name}).encodings for name in ENCODINGS)
