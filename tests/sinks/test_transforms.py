"""Iceberg's partition transforms: as pyiceberg computes them value by value, and as readers of the table use them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual
from pyiceberg.transforms import parse_transform
from pyiceberg.types import DateType, IcebergType, LongType, StringType, TimestampType, TimestamptzType

from airflow_provider_blockread.errors import OptionsError, RowError
from airflow_provider_blockread.options import DeltaSink, IcebergSink, ParquetSink, parse
from airflow_provider_blockread.options.partitions import Partition
from airflow_provider_blockread.sinks.columnar.transforms import as_number, as_text, transformed
from airflow_provider_blockread.sinks.names import AttemptName
from tests.sinks.kinds import Bench, iceberg, opened_iceberg

_LONGS = st.integers(-(2**63), 2**63 - 1)
_INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30))  # noqa: DTZ001 - as the table's, without a zone
_TEXTS = st.text(max_size=20)
_VALUES: list[tuple[pa.DataType, IcebergType, st.SearchStrategy[Any]]] = [
    (pa.int64(), LongType(), _LONGS),
    (pa.string(), StringType(), _TEXTS),
    (pa.large_string(), StringType(), _TEXTS),
    (pa.date32(), DateType(), st.dates()),
    (pa.timestamp("us"), TimestampType(), _INSTANTS),
    (pa.timestamp("us", "UTC"), TimestamptzType(), _INSTANTS.map(lambda at: at.replace(tzinfo=UTC))),
]


@given(data=st.data(), chosen=st.sampled_from(_VALUES), width=st.integers(1, 1000))
def test_values_are_those_of_pyiceberg(
    data: st.DataObject, chosen: tuple[pa.DataType, IcebergType, st.SearchStrategy[Any]], width: int
) -> None:
    """For every transform that a type has, and null for null."""
    kind, of_table, values = chosen
    column = data.draw(st.lists(st.none() | values, max_size=30))
    for name in ("year", "month", "day", "hour", "bucket", "truncate"):
        transform = parse_transform(f"{name}[{width}]" if name in {"bucket", "truncate"} else name)
        if not transform.can_transform(of_table) or (name == "truncate" and width > 1 and kind == pa.int64()):
            continue
        partition = Partition("c", name, width if name in {"bucket", "truncate"} else 0)
        function = transform.transform(of_table)
        stored = [None if value is None else _stored(value) for value in column]
        found = transformed(pa.array(column, kind), partition).to_pylist()

        assert found == [None if value is None else function(value) for value in stored]
        for number in filter(lambda value: isinstance(value, int), found):
            assert as_number(partition, as_text(partition, number)) == number


@pytest.mark.parametrize("transform", ["year", "month", "day", "hour"])
def test_the_first_and_last_nanoseconds(transform: str) -> None:
    """A time is in the partition of its microsecond, up to the limits of 64 bits."""
    times = pa.array([-(2**63), -(2**63) + 1, -9223290000000000000, -1, 0, 2**63 - 1], pa.timestamp("ns"))
    partition = Partition("c", transform, 0)
    rounded = pa.array([number // 1000 for number in times.cast(pa.int64()).to_pylist()], pa.timestamp("us"))

    assert transformed(times, partition).equals(transformed(rounded, partition))


def _stored(value: Any) -> Any:
    """Return a value as a table stores it."""
    if isinstance(value, datetime):
        return (value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    return (value - date(1970, 1, 1)).days if isinstance(value, date) else value


@given(st.lists(_LONGS, min_size=1, max_size=20), st.integers(1, 2**20))
def test_truncated_integers(values: list[int], width: int) -> None:
    """Down to a multiple; where there is none that the type holds, the error says which row it is."""
    expected = [value - value % width for value in values]
    wrong = next((row for row, value in enumerate(expected) if value < -(2**63)), None)
    if wrong is not None:
        with pytest.raises(RowError, match="cannot hold the next lower multiple of") as found:
            transformed(pa.array(values), Partition("c", "truncate", width))
        assert values[found.value.row] == values[wrong]
        return

    assert transformed(pa.array(values), Partition("c", "truncate", width)).to_pylist() == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units_of_time(unit: str) -> None:
    """A moment before 1970 is in the last hour of 1969, whatever it is counted in."""
    column = pa.array([-1, 0], pa.int64()).cast(pa.timestamp(unit))
    for name, text in (("year", "1969"), ("month", "1969-12"), ("day", "1969-12-31"), ("hour", "1969-12-31-23")):
        before, after = transformed(column, Partition("at", name)).to_pylist()
        assert (as_text(Partition("at", name), before), after) == (text, 0)
    moments = pa.array([1_700_000_000, -5], pa.int64()).cast(pa.timestamp("s"))
    buckets = [transformed(moments.cast(pa.timestamp(u)), Partition("at", "bucket", 97)) for u in ("us", unit)]
    assert buckets[0] == buckets[1]


_BY = ["day(at)", "bucket(4, id)", "truncate(2, name)", "kind"]
_ROWS = [
    {"id": number, "at": datetime(2026, 5, 1 + number % 2, 7, tzinfo=UTC), "name": f"n{number % 3}x", "kind": kind}
    for number, kind in zip(range(40), ["a", None] * 20, strict=True)
]


def published(place: Path, partition_by: Sequence[str], rows: list[dict[str, Any]]) -> Bench:
    """Return a table that a task's rows were published into."""
    bench = Bench("iceberg", str(place / "out"), {"partition_by": partition_by})
    publish(bench, rows)
    return bench


def publish(bench: Bench, rows: list[dict[str, Any]], window: str = "w1") -> None:
    """Publish rows as a window."""
    bench.marker = bench.marker_of(window)
    name = AttemptName(window=window, generation=1, group=0, epoch=1, attempt=0)
    writer = bench.sink.writer(bench.target, name, None)
    writer.write(pa.RecordBatch.from_pylist(rows))
    bench.apply(bench.steps(writer.close()))


def test_readers_of_a_table_skip_by_transforms(tmp_path: Path) -> None:
    """All rows are there, each once; a filter plans only the files that can hold such rows, and finds them all."""
    bench = published(tmp_path, _BY, _ROWS)
    publish(bench, [row | {"id": 100 + int(str(row["id"]))} for row in _ROWS], "w2")
    table = opened_iceberg(bench.place)
    assert [str(field.transform) for field in table.spec().fields] == ["day", "bucket[4]", "truncate[2]", "identity"]
    assert [field.name for field in table.spec().fields] == ["at_day", "id_bucket", "name_trunc", "kind"]
    found = pl.scan_iceberg(table).collect()
    assert sorted(found["id"]) == sorted([*range(40), *range(100, 140)])

    everything = len(list(table.scan().plan_files()))
    for condition, expected in (
        (EqualTo("id", 7), [7]),
        (EqualTo("name", "n1x"), [n for n in [*range(40), *range(100, 140)] if n % 100 % 3 == 1]),
        (GreaterThanOrEqual("at", "2026-05-02T00:00:00+00:00"), [n for n in [*range(40), *range(100, 140)] if n % 2]),
    ):
        scan = table.scan(row_filter=condition)
        assert len(list(scan.plan_files())) < everything
        assert sorted(scan.to_arrow()["id"].to_pylist()) == expected


def test_a_table_with_other_transforms(tmp_path: Path) -> None:
    """Refused before anything is read; the same ones are taken, from a table that others have made, too."""
    bench = published(tmp_path, _BY, _ROWS)
    schema = pa.RecordBatch.from_pylist(_ROWS).schema
    for other in (["day(at)"], ["month(at)", *_BY[1:]], ["day(at)", "bucket(5, id)", *_BY[2:]]):
        with pytest.raises(OptionsError, match=r"partitioned by day\(at\), bucket\(4, id\), truncate\(2, name\), kind"):
            Bench("iceberg", bench.place, {"partition_by": other}).sink.prepare(schema, "")
    bench.sink.prepare(schema, "")


@pytest.mark.parametrize(
    ("partition_by", "columns", "problem"),
    [
        (["day(at)"], {"at": pa.string(), "id": pa.int64()}, "column 'at' is string; partition by the day of dates"),
        (["hour(at)"], {"at": pa.date32(), "id": pa.int64()}, "partition by the hour of timestamps"),
        (["bucket(4, x)"], {"x": pa.float64(), "id": pa.int64()}, "partition by buckets of text"),
        (["truncate(4, x)"], {"x": pa.date32(), "id": pa.int64()}, "partition by the beginning of text"),
        (["day(at)"], {"at": pa.date32(), "at_day": pa.int64()}, "a column is named 'at_day'"),
        (["day(at)"], {"id": pa.int64()}, "there is no column 'at' to partition by"),
    ],
)
def test_columns_that_have_no_such_transform(
    tmp_path: Path, partition_by: list[str], columns: dict[str, pa.DataType], problem: str
) -> None:
    """Refused before anything is read; a transform that the type has is taken."""
    bench = Bench("iceberg", str(tmp_path / "out"), {"partition_by": partition_by})
    with pytest.raises(OptionsError, match=problem):
        bench.sink.prepare(pa.schema(list(columns.items())), "")

    published(tmp_path, ["day(at)"], _ROWS)


@pytest.mark.parametrize("text", ["day()", "bucket(id)", "bucket(0, id)", "truncate(-1, name)", "bucket(4)"])
def test_a_transform_that_is_written_wrongly(text: str) -> None:
    """The error shows how it is written; so written, it is one."""
    with pytest.raises(OptionsError, match=r"write day\(at\) with a column \(or year, month, hour\), or bucket\(16"):
        iceberg("/lake", partition_by=[text])

    assert [p.transform for p in iceberg("/lake", partition_by=["day(at)", "bucket(16, id)"]).partitions] == [
        "day",
        "bucket",
    ]


def test_two_transforms_of_one_time() -> None:
    """A table has one of them; the finer one serves readers of both."""
    with pytest.raises(OptionsError, match="keep the finer one"):
        iceberg("/lake", partition_by=["day(at)", "hour(at)"])

    assert iceberg("/lake", partition_by=["hour(at)", "bucket(4, at)"]).partitions[1].name == "at_bucket"


@pytest.mark.parametrize("sink", [ParquetSink, DeltaSink])
def test_transforms_are_icebergs(sink: type[ParquetSink]) -> None:
    """Other sinks are partitioned by columns, which a function may add."""
    with pytest.raises(OptionsError, match="which only Iceberg tables support; partition by a column"):
        sink("/out", partition_by=["day(at)"])

    assert sink("/out", partition_by=["at_day"]).partitions == (Partition("at_day"),)


def test_from_a_command_line() -> None:
    """A comma inside of parentheses does not separate."""
    texts = {"partition_by": "day(at),bucket(16, id),kind", "uri": "sqlite://", "warehouse": "/lake"}

    assert IcebergSink.from_texts("db.events", texts).partition_by == ("day(at)", "bucket(16, id)", "kind")
    assert parse(ParquetSink, {"uri": "/out", "partition_by": "a,b"}).partition_by == ("a", "b")
