"""Times that some readers do not know: outside of the years that Python has, and finer than a microsecond."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.errors import RowError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.names import AttemptName
from tests.sinks.kinds import STORES, Bench

_NAME = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
_OF_YEAR_10000, _OF_YEAR_0 = 253402318799000000, -62167219200000000  # microseconds since 1970
_FAR = {
    "instants": pa.array([0, _OF_YEAR_10000], pa.timestamp("us", "UTC")),
    "local times": pa.array([0, _OF_YEAR_0], pa.timestamp("us")),
    "dates": pa.array([0, _OF_YEAR_10000 // (86400 * 10**6)], pa.date32()),
    "lists": pa.array([[0], [0, _OF_YEAR_0]], pa.list_(pa.timestamp("us"))),
}
_BEYOND_ARROW = {  # years beyond 32767, which Arrow counts from the other end
    "instants": pa.array([0, 2**61 + 12345678901234], pa.timestamp("us", "UTC")),
    "local times": pa.array([0, -(2**62)], pa.timestamp("us")),
    "dates": pa.array([0, 2**31 - 1], pa.date32()),
    "seconds": pa.array([0, 2**62], pa.timestamp("s")),
}
_TIMES = [kind for kind in _FAR if kind != "lists"]


def staged(bench: Bench, column: pa.Array) -> list[OutputFile]:
    """Return the files of a task that wrote a column `at` beside numbers."""
    writer = bench.sink.writer(bench.target, _NAME, None)
    try:
        writer.write(pa.RecordBatch.from_pydict({"at": column, "id": pa.array(range(len(column)))}))
        return writer.close()
    except BaseException:
        writer.abort()
        raise


@pytest.mark.parametrize("kind", _FAR)
@pytest.mark.parametrize("sink", ["parquet", "delta", "iceberg"])
def test_tables_hold_times_of_any_year(tmp_path: Path, sink: str, kind: str) -> None:
    """A column is kept as it is, without bounds: readers that have such years find them."""
    bench = Bench(sink, str(tmp_path / "out"))
    (file,) = staged(bench, _FAR[kind])
    with STORES.open_read(file.uri) as data:
        assert pq.read_table(data)["at"].combine_chunks().equals(_FAR[kind])
    bench.apply(bench.steps([file]))

    assert not any("at" in file.statistics.get(bound, {}) for bound in ("min", "max"))


@pytest.mark.parametrize(
    "column", [*_FAR.values(), *_BEYOND_ARROW.values()], ids=[*_FAR, *(f"far {k}" for k in _BEYOND_ARROW)]
)
def test_json_has_no_text_for_times_of_other_years(tmp_path: Path, column: pa.Array) -> None:
    """The error says which row it is."""
    with pytest.raises(RowError, match="outside of the years 1 to 9999: JSON has no text for it") as found:
        staged(Bench("json_lines", str(tmp_path / "out")), column)
    assert found.value.row == 1


@pytest.mark.parametrize("column", [*(_FAR[kind] for kind in _TIMES), *_BEYOND_ARROW.values()])
def test_csv_has_no_text_for_times_of_other_years(tmp_path: Path, column: pa.Array) -> None:
    """The error says which row it is; those at the borders are written."""
    bench = Bench("csv", str(tmp_path / "out"))
    with pytest.raises(RowError, match="outside of the years 1 to 9999: csv has no text for it") as found:
        staged(bench, column)
    assert found.value.row == 1

    (file,) = staged(bench, pa.array([date.min, None, date.max]))
    with STORES.open_read(file.uri) as data:
        assert data.read().splitlines()[-3:] == [b"0001-01-01,0", b",1", b"9999-12-31,2"]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Europe/Amsterdam", "-08:00"])
def test_csv_has_instants_in_utc(tmp_path: Path, zone: str) -> None:
    """No offset loses its seconds, and no year is another one than its instant's."""
    bench = Bench("csv", str(tmp_path / "out"))
    instants = [
        datetime(1900, 5, 1, 12, tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime.min.replace(tzinfo=UTC),
    ]
    (file,) = staged(bench, pa.array(instants, pa.timestamp("us", zone)))
    with STORES.open_read(file.uri) as data:
        texts = [line.decode().partition(",")[0] for line in data.read().splitlines()[1:]]
    assert [text[-1] for text in texts] == ["Z"] * 3
    assert [datetime.fromisoformat(text) for text in texts] == instants


@pytest.mark.parametrize("fine", [pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("ns", "Asia/Tokyo")], ids=str)
@pytest.mark.parametrize("nested", [False, True])
def test_json_has_microseconds(tmp_path: Path, fine: pa.DataType, *, nested: bool) -> None:
    """A time with nanoseconds is refused, and not cut, at any depth, and whether or not pandas is loaded."""
    bench = Bench("json_lines", str(tmp_path / "out"))

    def times(*values: int | None) -> pa.Array:
        if not nested:
            return pa.array(values, fine)
        kind = pa.list_(pa.struct([("x", pa.map_(pa.string(), pa.list_(fine, 1)))]))
        return pa.array([value and [{"x": [("y", [value])]}] for value in values], kind)

    with pytest.raises(RowError, match="a time in nanoseconds: JSON lines hold microseconds") as found:
        staged(bench, times(1000, None, 1))
    assert found.value.row == 2

    (file,) = staged(bench, times(1, 1000, None)[1:])
    with STORES.open_read(file.uri) as data:
        one, other = (json.loads(line)["at"] for line in data.read().splitlines())
    assert other is None
    text = one[0]["x"][0][1][0] if nested else one
    coarse = pa.array([1], pa.time64("us") if pa.types.is_time64(fine) else pa.timestamp("us", fine.tz))
    assert text == coarse[0].as_py().isoformat()


@pytest.mark.parametrize("kind", _TIMES)
@pytest.mark.parametrize("sink", ["delta", "iceberg", "parquet"])
def test_no_partition_is_named_by_times_of_other_years(tmp_path: Path, sink: str, kind: str) -> None:
    """By the date itself, or what Iceberg makes of a time; a bucket is a number."""
    plain = {"at"} if kind == "dates" else set[str]()
    of_iceberg = {"year(at)", "month(at)", "day(at)"} | ({"hour(at)"} if kind != "dates" else set())
    for by in plain | (of_iceberg if sink == "iceberg" else set()):
        options: dict[str, Any] = {"partition_by": [by]}
        with pytest.raises(RowError, match="'at' holds a time outside of the years 1 to 9999") as found:
            staged(Bench(sink, str(tmp_path / by), options), _FAR[kind])
        assert found.value.row == 1
    if sink == "iceberg":
        assert staged(Bench(sink, str(tmp_path / "bucket"), {"partition_by": ["bucket(4, at)"]}), _FAR[kind])


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("options", [{}, {"partition_by": ["id"]}], ids=["plain", "partitioned"])
@pytest.mark.parametrize("sink", ["parquet", "delta", "iceberg"])
def test_nanoseconds_are_refused_by_their_row(
    tmp_path: Path, sink: str, options: dict[str, Any], zone: str | None
) -> None:
    """Files hold microseconds, which Spark reads: a finer time is an error that says which row it is."""
    bench = Bench(sink, str(tmp_path / "out"), options)
    kind = pa.timestamp("ns", zone)
    assert sum(file.rows for file in staged(bench, pa.array([None, 1_000, 2**62 // 1000 * 1000], kind))) == 3
    with pytest.raises(
        RowError, match=r"'at' holds 1970-01-01 00:00:00.000001001Z?, and files hold microseconds"
    ) as found:
        staged(bench, pa.array([None, 1_000, 1_001, 7], kind))
    assert found.value.row == 2
