"""Values come out of a DataFrame as they went in, whichever way Spark reads the staged files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from airflow_provider_blockread.cli.spark import InProcessSpark
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import AsRead, Csv, DataFrameFunction, JsonLines, Sql
from airflow_provider_blockread.records.columns.schema import parse_schema
from airflow_provider_blockread.spark.frames.types import as_frame
from tests.pipeline.make import Pipe

#: Columns of every type that a DataFrame has, and their values at the edges.
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "truth": ("boolean", [True, False, None]),
    "tiny": ("byte", [-128, 127, None]),
    "small": ("short", [-(2**15), 2**15 - 1, None]),
    "whole": ("int", [-(2**31), 2**31 - 1, None]),
    "big": ("long", [-(2**63), 2**63 - 1, None]),
    "single": ("float", [1.5, -0.25, None]),
    "real": ("double", [1e300, -5e-324, None]),
    "money": ("decimal(38,18)", ["12345678901234567890.123456789012345678", "-0.000000000000000001", None]),
    "word": ("string", ["", "é \ud83d\ude00 \u0000", None]),
    "long word": ("large_string", ["a", "", None]),
    "day": ("date", ["0001-01-01", "9999-12-31", None]),
    "at": ("timestamp", ["1500-02-28T23:59:59.999999Z", "2024-06-01T00:30:00.000001+05:00", None]),
    "local": ("timestamp_ntz", ["0001-01-01T00:00:00", "2024-03-31T02:30:00.123456", None]),
    "seconds": ("timestamp[s, tz=UTC]", ["1969-12-31T23:59:59Z", "2024-06-01T00:30:00Z", None]),
    "a.b": ("array<long>", [[1, None, -1], [], None]),
    "days": ("array<array<date>>", [[["1582-10-10"], []], [[None]], None]),
    "pair": ("struct<x: long, at: timestamp, `y z`: array<decimal(4,2)>>", [
        {"x": 1, "at": "2024-06-01T00:30:00Z", "y z": ["10.25"]}, {"x": None, "at": None, "y z": None}, None,
    ]),
}  # fmt: skip
SCHEMA = ", ".join(f"`{name}` {kind}" for name, (kind, _) in COLUMNS.items())


#: Settings of Spark that change types.
SETTINGS = {
    "spark.sql.execution.arrow.useLargeVarTypes": "true",
    "spark.sql.session.timeZone": "Europe/Paris",
    "spark.sql.timestampType": "TIMESTAMP_NTZ",
}


@pytest.fixture
def settings(spark: InProcessSpark) -> Iterator[None]:
    """Give Spark's session settings that change types."""
    from pyspark.sql import SparkSession

    spark._started()
    session = SparkSession.builder.getOrCreate()
    before = {name: session.conf.get(name) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    yield
    for name, value in before.items():
        session.conf.set(name, str(value))


@pytest.mark.spark
@pytest.mark.parametrize("set_by", ["nobody", "the user"])
@pytest.mark.parametrize("out_name", ["out", "out [1]"], ids=["by the JVM", "by the data source"])
def test_each_type(pipe: Pipe, out_name: str, set_by: str, request: pytest.FixtureRequest) -> None:
    """What a query selects has the types and values that the reader alone publishes, whatever Spark's settings are."""
    if set_by == "the user":
        request.getfixturevalue("settings")
    records = [{name: values[n] for name, (_, values) in COLUMNS.items()} for n in range(3)]
    pipe.put({"a.jsonl": "".join(json.dumps(record) + "\n" for record in records).encode()})
    pipe.record_format, pipe.function, pipe.out_name = JsonLines(schema=SCHEMA), AsRead(), "as read"
    pipe.run("as read")
    as_read = ds.dataset(str(pipe.out)).to_table().to_pylist()
    again = Pipe(folder=pipe.folder, submitter=pipe.submitter, feed="again", out_name=out_name)
    again.record_format, again.function = pipe.record_format, Sql("SELECT * FROM records")
    again.run("selected")
    selected = ds.dataset(str(again.out)).to_table()
    again.close()

    assert sorted(selected.to_pylist(), key=str) == sorted(as_read, key=str)
    wanted = as_frame(parse_schema(SCHEMA))
    assert (selected.schema.names, selected.schema.types) == (wanted.names, wanted.types)


@pytest.mark.spark
def test_a_declared_schema_of_nested_columns(pipe: Pipe) -> None:
    """Columns whose elements Spark knows to be there are taken for declared ones whose elements may be null."""
    pipe.put({"a.csv": b"1,x\n"})
    pipe.record_format = Csv(schema="id long, word string")
    schema = "id long, words array<struct<word: string, next: long>>, fix struct<one: int>"
    pipe.function = DataFrameFunction("user_frames:nested", schema=schema)
    pipe.run()

    assert pipe.rows() == [{"id": 1, "words": [{"word": "x", "next": 2}], "fix": {"one": 1}}]
    assert ds.dataset(str(pipe.out)).schema.types == parse_schema(schema).types


@pytest.mark.parametrize("kind", ["uint8", "uint64", "halffloat", "time64[us]", "timestamp[ns]", "array<uint16>"])
def test_types_that_no_dataframe_has(kind: str) -> None:
    """What would be changed on its way is refused, with the column named."""
    with pytest.raises(OptionsError, match=r"column 'n' is of type .*, which a DataFrame does not have"):
        as_frame(parse_schema(f"n {kind}"))


@pytest.mark.parametrize("schema", ["a long, b int, A long", "s struct<a: long, A: long>"])
def test_names_that_differ_in_case_only(schema: str) -> None:
    """Spark would take them for one column, and blame the function."""
    with pytest.raises(OptionsError, match="distinguish columns 'a' and 'A'"):
        as_frame(parse_schema(schema))


def test_a_schema_as_a_dataframe_has_it() -> None:
    """Instants are in UTC with microseconds, and wide text and dates are Spark's."""
    schema = parse_schema("a timestamp[ms, tz=Europe/Paris], b date64[ms], c large_binary, d struct<e: int not null>")
    inner = pa.struct([pa.field("e", pa.int32())])

    assert as_frame(schema).types == [pa.timestamp("us", "UTC"), pa.date32(), pa.binary(), inner]
