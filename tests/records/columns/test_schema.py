"""Schemas as text: in Spark's DDL, as Arrow prints them, and back."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records import make_format
from airflow_provider_blockread.records.columns.schema import parse_schema, schema_text
from airflow_provider_blockread.records.json.parse import JsonParser

flat = st.sampled_from(
    [
        *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
        *(pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.date32(), pa.date64()),
        *(
            pa.time32("s"),
            pa.time32("ms"),
            pa.time64("us"),
            pa.time64("ns"),
            pa.decimal128(10, 2),
            pa.decimal128(38, 0),
        ),
        *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
        *(pa.timestamp("us", tz=zone) for zone in ("UTC", "Europe/Berlin", "+01:30")),
    ]
)
plain_names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}( [a-z]{1,3})?", fullmatch=True)
any_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).filter(str.strip)


def schemas(names: st.SearchStrategy[str]) -> st.SearchStrategy[pa.Schema]:
    """Return schemas with these column names, including nested ones."""

    def fields(kinds: st.SearchStrategy[pa.DataType]) -> st.SearchStrategy[list[pa.Field]]:
        field = st.builds(lambda name, kind, null: pa.field(name, kind, nullable=null), names, kinds, st.booleans())
        return st.lists(field, min_size=1, max_size=3, unique_by=lambda field: field.name)

    lists = st.builds(lambda kind, null: pa.list_(pa.field("item", kind, nullable=null)), flat, st.booleans())
    kinds = flat | lists | fields(flat | lists).map(pa.struct)
    return fields(kinds | kinds.map(pa.list_)).map(pa.schema)


@given(schemas(plain_names))
def test_what_arrow_prints_is_read_back(schema: pa.Schema) -> None:
    """What Arrow prints, however nested, is parsed, and so is the same on one line with commas."""
    top = [f"{field.name}: {field.type}{'' if field.nullable else ' not null'}" for field in schema]

    assert parse_schema(schema.to_string(element_size_limit=10_000)) == schema
    assert parse_schema(", ".join(top)) == schema


def test_metadata_are_no_columns() -> None:
    """Printed metadata of a schema and its fields is ignored."""
    schema = pa.schema([pa.field("a", pa.int64(), metadata={"x": "y"}), ("b", pa.list_(pa.date32()))])

    assert parse_schema(str(schema.with_metadata({"p": "q: 1, r: 2"}))) == schema.remove_metadata()


@given(schemas(any_names))
def test_schemas_survive_as_text(schema: pa.Schema) -> None:
    """`parse_schema` reads what `schema_text` writes, whatever the names of columns."""
    assert parse_schema(schema_text(schema)) == schema


def test_sparks_words_stay_sparks_words() -> None:
    """Text is unchanged by a round trip where Spark has a name for each type."""
    text = (
        "a boolean, b byte, c short, d int, e long, f float, g double, h decimal(10,2), i string, j binary, k date,"
        " l timestamp, m timestamp_ntz, n array<long>, o struct<p: int, `q r`: array<string>>, `s``t` string not null"
    )

    assert schema_text(parse_schema(text)) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("a decimal, b numeric, c DEC", "a decimal(10,0), b decimal(10,0), c decimal(10,0)"),
        ("a decimal(12), b numeric (12, 2)", "a decimal(12,0), b decimal(12,2)"),
        ("a varchar(10), b CHAR( 3 )", "a string, b string"),
        ("a timestamp_ltz", "a timestamp"),
        ("a array < struct < b : int > >", "a array<struct<b: int>>"),
        ("struct<a:bigint,b:struct<c:int>>", "a long, b struct<c: int>"),
        (" STRUCT <a: bigint>\n", "a long"),
        ("struct: struct<a: int>, b struct<c: int>", "struct struct<a: int>, b struct<c: int>"),
        ("a long NOT NULL COMMENT 'it\\'s, `<' , b long", "a long not null, b long"),
        ('a struct<b: int comment "x\\">">', "a struct<b: int>"),
        ("` comment 'x'` long", "` comment 'x'` long"),
    ],
)
def test_what_spark_writes_is_read(text: str, same: str) -> None:
    """Spark's defaults and synonyms, blanks, whole rows as a struct and comments have the meaning that Spark gives."""
    assert parse_schema(text) == parse_schema(same)


def test_types_that_no_format_reads_are_not_offered() -> None:
    """The error lists types to choose from, and csv and JSON refuse times of day."""
    with pytest.raises(OptionsError, match="known are boolean") as caught:
        parse_schema("a colour")
    assert "time64" not in str(caught.value)
    assert "timestamp" in str(caught.value)


def test_case_and_spelling_of_types_are_free() -> None:
    """Spark's synonyms and any case mean the same; a colon may follow the name."""
    one = parse_schema("a BIGINT, b:Int NOT NULL, c Array<Struct<X: DATE>>, d DECIMAL( 5 , 1 )")
    other = parse_schema("a long\nb: int32 not null\nc: list<item: struct<X: date32[day]>>,\nd decimal128(5, 1)\n")

    assert one == other


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one column"),
        ("id", "not 'id'"),
        ("id long, id string", "each only once"),
        ("id long, at moment", "column 'at' has the unknown type 'moment'; known are boolean, byte"),
        ("on struct<x: nosuch>", "column 'x' has the unknown type 'nosuch'"),
        ("tags array<nosuch>", "column 'tags' has the unknown type 'nosuch'"),
        ("d decimal(39,2)", "column 'd'"),
        ("d decimal(3,5)", "column 'd'"),
        ("t timestamp[week]", "column 't'"),
        ("`id long", "write each column"),
        ("s: struct<a (... 2 chars omitted)", "element_size_limit"),
        ("a map<string, long>", "column 'a'"),
    ],
)
def test_the_error_names_the_column(text: str, said: str) -> None:
    """It lists the known types."""
    with pytest.raises(OptionsError, match="schema") as caught:
        parse_schema(text)

    assert said in str(caught.value)


@pytest.mark.parametrize("made", [JsonParser, lambda schema: make_format(Csv(schema=schema)).decoder()])
def test_nanoseconds_need_a_pyarrow_that_refuses_other_times(
    monkeypatch: pytest.MonkeyPatch, made: Callable[[str], object]
) -> None:
    """Earlier ones read 2262-04-12 as a day in 1677; a newer one, or microseconds, can be used."""
    with monkeypatch.context() as older:
        older.setattr(pa, "__version__", "22.0.0")
        with pytest.raises(OptionsError, match=r"'at' of nanoseconds needs pyarrow 23 .* here is 22\.0\.0"):
            made("at timestamp[ns]")
        made("at timestamp[us]")
    made("at timestamp[ns]")
