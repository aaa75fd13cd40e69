"""Types of rows that differ from a table's in what they are in memory or where they have nulls, not in their values."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyiceberg.catalog import load_catalog

from airflow_provider_blockread.errors import OptionsError
from tests.sinks.kinds import Bench, iceberg

_KINDS = ["delta", "iceberg"]


def needed(name: str, kind: pa.DataType) -> pa.Field:
    """Return a field that may not be null."""
    return pa.field(name, kind, nullable=False)


_TWO = pa.struct([("a", pa.int64()), ("b", pa.string())])
#: Values, and two types of each: with nulls inside and without any.
_NESTED: list[tuple[Any, pa.DataType, pa.DataType]] = [
    ([1, 2], pa.list_(pa.int64()), pa.list_(needed("item", pa.int64()))),
    ({"a": 1, "b": "x"}, _TWO, pa.struct([needed("a", pa.int64()), _TWO[1]])),
    ([("k", 1)], pa.map_(pa.string(), pa.int64()), pa.map_(pa.string(), needed("value", pa.int64()))),
    ([{"a": 1, "b": "x"}], pa.list_(_TWO), pa.list_(pa.struct([needed("a", pa.int64()), _TWO[1]]))),
]
_IDS = ["list", "struct", "map", "in depth"]


def made(kind: str, place: str, column: pa.DataType) -> Bench:
    """Return a table with a column x that another program has made."""
    schema = pa.schema([("x", column)])
    if kind == "delta":
        DeltaTable.create(place, schema)
    else:
        option = iceberg(place)
        with load_catalog(option.catalog, **option.catalog_properties) as catalog:
            catalog.create_namespace("db")
            catalog.create_table(option.uri, schema=schema)
    return Bench(kind, place)


def publish(bench: Bench, window: str, rows: pa.Table) -> None:
    """Publish rows as a window, whose columns are declared."""
    bench.target = bench.sink.prepare(rows.schema, f"{bench.option.work_area}/stage")
    writer = bench.writer(rows.schema, window=window)
    writer.write(rows.combine_chunks().to_batches()[0])
    bench.marker = bench.marker_of(window)
    bench.apply(bench.steps(writer.close()))


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(("value", "loose", "strict"), _NESTED, ids=_IDS)
def test_values_without_the_nulls_that_a_table_may_hold(
    tmp_path: Path, kind: str, value: Any, loose: pa.DataType, strict: pa.DataType
) -> None:
    """They are published; others are refused where the table has no nulls."""
    bench = made(kind, str(tmp_path / "loose"), loose)
    for window, column in {"w1": strict, "w2": loose}.items():
        publish(bench, window, pa.table({"x": pa.array([value], column)}))
    assert [row["x"] for row in bench.case.rows(bench.place)] == [dict(value) if "map" in str(loose) else value] * 2

    other = made(kind, str(tmp_path / "strict"), strict)
    with pytest.raises(OptionsError, match=r"has column 'x' as .*, not .*; cast it to the table's type"):
        other.sink.prepare(pa.schema([("x", loose)]), "")
    publish(other, "w1", pa.table({"x": pa.array([value], strict)}))


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize(("value", "loose", "strict"), _NESTED, ids=_IDS)
def test_columns_that_are_created(
    tmp_path: Path, kind: str, value: Any, loose: pa.DataType, strict: pa.DataType
) -> None:
    """With the table or later, they may hold nulls at any depth."""
    bench = Bench(kind, str(tmp_path / "out"), {"schema": "add_columns"})
    rows = pa.table({"x": pa.array([value], strict)})
    publish(bench, "w1", rows)
    publish(bench, "w2", rows.append_column("y", rows["x"]))
    publish(bench, "w3", pa.table({name: pa.array([value], loose) for name in "xy"}))

    assert len(bench.case.rows(bench.place)) == 3


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("unit", ["s", "ms", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_of_other_units(tmp_path: Path, kind: str, unit: str, zone: str | None) -> None:
    """Files have microseconds, at any depth, so that each window is published as the first one."""
    bench = Bench(kind, str(tmp_path / "out"))
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC if zone else None)
    times = pa.array([at], pa.timestamp(unit, zone))
    rows = pa.table({"x": times, "y": pa.ListArray.from_arrays([0, 1], times)})
    for window in ("w1", "w2"):
        publish(bench, window, rows)

    assert bench.case.rows(bench.place) == [{"x": at, "y": [at]}] * 2
