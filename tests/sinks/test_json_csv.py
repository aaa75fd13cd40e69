"""JSON lines and csv: other readers find the rows that were written, whatever is in them."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import FunctionError, OptionsError, RowError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import CsvSink
from airflow_provider_blockread.sinks.json_csv import CsvRows, JsonObjects
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.storage import uris
from tests.pipeline.make import Pipe, ReadHere
from tests.sinks.kinds import KINDS, STORES, Bench, opened

_NAME = AttemptName(window="ab12", generation=1, group=0, epoch=1, attempt=0)
_SCHEMA = pa.schema([("text", pa.string()), ("number", pa.int64()), ("more", pa.string())])
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)
_READ = """SELECT * FROM read_csv(?, columns = {'text': 'VARCHAR', 'number': 'BIGINT', 'more': 'VARCHAR'}, delim = ?,
    header = ?, quote = '"', escape = '"', auto_detect = false, allow_quoted_nulls = false, new_line = '\\n')"""
_ROWS = st.lists(st.tuples(st.none() | _TEXT, st.none() | st.integers(-(2**63), 2**63 - 1), _TEXT), max_size=8)


def written(bench: Bench, *batches: pa.RecordBatch) -> list[OutputFile]:
    """Return the files of a task that wrote batches."""
    writer = bench.sink.writer(bench.target, _NAME, None)
    for batch in batches:
        writer.write(batch, 5)
    return writer.close()


def columns(rows: list[tuple[Any, ...]]) -> pa.RecordBatch:
    """Return rows as a batch."""
    return pa.RecordBatch.from_pylist([dict(zip(_SCHEMA.names, row, strict=True)) for row in rows], _SCHEMA)


@given(batches=st.lists(_ROWS, max_size=3), codec=st.sampled_from(["none", "gzip"]))
def test_json_lines_come_back(batches: list[list[tuple[Any, ...]]], codec: str) -> None:
    """Rows of any text are objects with all columns, and are counted from the file."""
    with opened("json_lines") as made:
        bench = Bench("json_lines", made.place, {"compression": codec})
        files = written(bench, *map(columns, batches))
        if codec == "none":
            found = [row for file in files for row in KINDS["json_lines"].read(file.uri)]
            assert [tuple(row.values()) for row in found] == [row for rows in batches for row in rows]
        assert [bench.sink.count(file) for file in files] == [file.rows for file in files]
        assert sum(file.rows for file in files) == sum(map(len, batches))


_VALUES: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.uint64(): st.integers(0, 2**64 - 1),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 1.0, 1e15, 1e16, 1e-5]),
    pa.float32(): st.floats(width=32, allow_nan=False, allow_infinity=False),
    pa.string(): _TEXT | st.sampled_from(['"', "\\", "\x1f", "\x7f", "\n", "\u2028"]),
    pa.large_string(): _TEXT,
    pa.date32(): st.dates(),
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("s"): st.datetimes().map(lambda at: at.replace(microsecond=0)),
    pa.timestamp("ms", "UTC"): st.datetimes().map(lambda at: at.replace(microsecond=7000, tzinfo=UTC)),
    pa.timestamp("us", "UTC"): st.datetimes(timezones=st.just(UTC)),
    pa.timestamp("us", "Asia/Tokyo"): st.datetimes(timezones=st.just(UTC), min_value=datetime(2000, 1, 1)),  # noqa: DTZ001
    pa.list_(pa.int8()): st.lists(st.integers(-128, 127), max_size=2),
}


@given(data=st.data(), kind=st.sampled_from(list(_VALUES)))
def test_columns_become_the_objects_that_their_rows_become(data: st.DataObject, kind: pa.DataType) -> None:
    """Each line is the object of its row, although columns are written at once; times are as in ISO 8601."""
    values = data.draw(st.lists(st.none() | _VALUES[kind], max_size=5))
    batch = pa.record_batch({'é"': pa.array(values, kind), "n": pa.array(range(len(values)))})
    (text,) = JsonObjects().encode(batch)
    rows = [json.dumps(row, default=lambda at: at.isoformat(), ensure_ascii=False) for row in batch.to_pylist()]

    assert repr([json.loads(line) for line in bytes(text).decode().split("\n")[:-1]]) == repr(
        [json.loads(row) for row in rows]
    )


@given(batches=st.lists(_ROWS, max_size=3), delimiter=st.sampled_from([",", ";", "\t", "|"]), header=st.booleans())
def test_csv_comes_back(batches: list[list[tuple[Any, ...]]], delimiter: str, *, header: bool) -> None:
    """DuckDB reads the same, nulls and empty texts distinct; newlines and quotes in texts do not count as rows."""
    with opened("csv", "disk") as made:
        bench = Bench("csv", made.place, {"delimiter": delimiter, "header": header})
        files = written(bench, *map(columns, batches))
        for file in files:
            read = duckdb.execute(_READ, [file.uri.removeprefix("file://"), delimiter, header])
            assert read.fetchall() == [row for rows in batches for row in rows]
        assert [bench.sink.count(file) for file in files] == [sum(map(len, batches))] * len(files)


@given(data=st.data(), kind=st.sampled_from(list(_VALUES)), alone=st.booleans(), sink=st.sampled_from(["json", "csv"]))
def test_the_lines_of_a_row_do_not_depend_on_its_batch(
    data: st.DataObject, kind: pa.DataType, sink: str, *, alone: bool
) -> None:
    """Nulls beside a value change nothing in its text."""
    assume(sink == "json" or not pa.types.is_nested(kind))
    values = pa.array(data.draw(st.lists(st.none() | _VALUES[kind], min_size=1, max_size=5)), kind)
    batch = pa.record_batch({"x": values} if alone else {"x": values, "y": values})
    made = JsonObjects() if sink == "json" else CsvRows(CsvSink("/out"))
    rows = [made.encode(batch.slice(row, 1)) for row in range(len(values))]

    assert b"".join(made.encode(batch)) == b"".join(part for parts in rows for part in parts)


def test_every_type(tmp_path: Path) -> None:
    """Types that text has no word for are as the documentation says."""
    batch = pa.RecordBatch.from_pydict(
        {
            "flag": [True, None],
            "part": [0.1, 1e300],
            "day": [date(2026, 1, 2), None],
            "at": pa.array([datetime(2026, 1, 2, 3, 4, 5, 678901, UTC), None], pa.timestamp("us", "UTC")),
            "price": [Decimal("1.25"), None],
        }
    )
    inner = {"raw": b"\xff\0", "many": [1, None], "inner": {"x": "y"}}
    bench = Bench("json_lines", str(tmp_path / "json"))
    (file,) = written(bench, batch.append_column("inner", pa.array([inner, None])))
    first, second = STORES.read_bytes(file.uri).decode().splitlines()
    assert json.loads(first) == {
        "flag": True,
        "part": 0.1,
        "day": "2026-01-02",
        "at": "2026-01-02T03:04:05.678901+00:00",
        "price": "1.25",
        "inner": {"raw": "/wA=", "many": [1, None], "inner": {"x": "y"}},
    }
    assert set(json.loads(second).values()) == {None, 1e300}

    (file,) = written(Bench("csv", str(tmp_path / "csv")), batch)
    read = pl.read_csv(file.uri.removeprefix("file://"), try_parse_dates=True)
    assert read["part"].to_list() == [0.1, 1e300]
    assert (
        STORES.read_bytes(file.uri).decode().splitlines()[1] == "true,0.1,2026-01-02,2026-01-02 03:04:05.678901Z,1.25"
    )


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_json_does_not_hold(tmp_path: Path, value: float) -> None:
    """The error says which row it is; a type without text is refused as a whole."""
    bench = Bench("json_lines", str(tmp_path / "out"))
    with pytest.raises(RowError, match="replace NaN and infinity in a function") as found:
        written(bench, pa.RecordBatch.from_pydict({"x": [1.0, value]}))
    assert found.value.row == 1
    with pytest.raises(FunctionError, match="timedelta is not a JSON type; cast it in the function"):
        written(bench, pa.RecordBatch.from_arrays([pa.array([1], pa.duration("s"))], ["x"]))

    assert [file.rows for file in written(bench, pa.RecordBatch.from_pydict({"x": [1.0, None]}))] == [2]


def test_a_value_that_csv_does_not_hold(tmp_path: Path) -> None:
    """Refused where the columns are known, and by the writer."""
    bench = Bench("csv", str(tmp_path / "out"))
    for kind in (pa.binary(), pa.binary(4), pa.list_(pa.int64()), pa.duration("us")):
        with pytest.raises(OptionsError, match="which csv does not hold; cast it"):
            bench.sink.prepare(pa.schema([("x", kind)]), "")
        with pytest.raises(FunctionError, match="which csv does not hold; cast it"):
            written(bench, pa.RecordBatch.from_arrays([pa.nulls(1, kind)], ["x"]))
    interval = pa.array([(1, 2, 3)], pa.month_day_nano_interval())
    with pytest.raises(FunctionError, match="csv cannot hold what the function returned"):
        written(bench, pa.RecordBatch.from_arrays([interval], ["x"]))

    (file,) = written(bench, pa.RecordBatch.from_pydict({"x": ["a", None, ""]}))
    assert (STORES.read_bytes(file.uri), bench.sink.count(file)) == (b'"x"\n"a"\n""\n""\n', 3)
    (file,) = written(bench, pa.RecordBatch.from_pydict({"x": [1, None, 2]}))
    assert (STORES.read_bytes(file.uri), bench.sink.count(file)) == (b'"x"\n1\n""\n2\n', 3)


def test_a_nul_in_a_text(tmp_path: Path) -> None:
    """The error says which row it is; Python's own reader, and the format `csv` here, refuse such a line."""
    bench = Bench("csv", str(tmp_path / "out"))
    with pytest.raises(RowError, match=r"column 'y' holds a NUL, .* in text; replace it in a function") as found:
        written(bench, pa.RecordBatch.from_pydict({"x": [1, 2, 3], "y": [None, "a", "b\0"]}))
    assert found.value.row == 2

    assert [file.rows for file in written(bench, pa.RecordBatch.from_pydict({"x": [1], "y": ["b"]}))] == [1]


@pytest.mark.parametrize("delimiter", list(" +-.:eT05"))
def test_a_delimiter_that_values_without_quotes_may_hold(delimiter: str) -> None:
    """Numbers, times and booleans would be two fields; the message names delimiters that are none of theirs."""
    with pytest.raises(OptionsError, match="not in quotes; choose another one, such as ';' or a tab"):
        CsvSink("/out", delimiter=delimiter)

    assert all(CsvSink("/out", delimiter=other) for other in ";\t")


@pytest.mark.parametrize("delimiter", ["", "ab", '"', "\n", "\0", "\u00e4"])
def test_a_delimiter_that_csv_cannot_have(delimiter: str) -> None:
    """Readers take one byte."""
    with pytest.raises(OptionsError, match="one ASCII character other than a quote, newline or NUL"):
        CsvSink("/out", delimiter=delimiter)

    assert CsvSink("/out", delimiter=";").suffix == ".csv"


@pytest.mark.parametrize("kind", ["json_lines", "csv"])
@pytest.mark.parametrize("per", ["task", "block"])
def test_a_window_is_published_and_replaced(tmp_path: Path, kind: str, per: str) -> None:
    """By a task, or by a block whose number the name ends in; a rebuild replaces it."""
    pipe = Pipe(folder=tmp_path, submitter=ReadHere(), kind=kind, block_size=6, sink_options={"per": per})
    pipe.put({"a.txt": b'a1\n"2\n,3\na4\n'})
    pipe.run()
    pipe.run(clear_number=1)
    pipe.close()

    assert pipe.values() == ['"2', ",3", "a1", "a4"]
    assert len(pipe.published()) == (2 if per == "block" else 1)
    assert all(uris.name_of(name).startswith("part-w") and "-g2-" in name for name in pipe.published())
