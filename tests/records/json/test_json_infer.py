"""The schema of a sample of JSON records."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import JsonArray, JsonLines
from airflow_provider_blockread.records.json.decode import JsonDecoder
from airflow_provider_blockread.records.json.infer import Inferred, infer_schema
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.sampling import Sample, sample_file


def sampled(text: str, option: JsonLines | JsonArray) -> Sample:
    """Return the records of a file."""
    source, fmt = open_source(io.BytesIO(text.encode()), make_format(option))
    return sample_file(source, fmt, 2**20)


def inferred(*records: str) -> Inferred:
    """Return what is found in lines of JSON."""
    return infer_schema([sampled("\n".join(records), JsonLines())])


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2", "null"], "long"),
        (["1", "2.5"], "double"),
        (["1e5"], "double"),
        (["NaN", "1"], "double"),
        (["9223372036854775807"], "long"),
        (["9223372036854775808"], "decimal(38,0)"),
        (["1234567890123456", "0.25"], "decimal(38,2)"),
        (["1" + "0" * 40], "double"),
        (["true", "false"], "boolean"),
        (['"a"', '""'], "string"),
        (["null"], "string"),
        (['"2024-05-06"'], "date"),
        (['"2024-02-30"'], "string"),
        (['"2024-05-06 07:08:09"'], "timestamp_ntz"),
        (['"2024-05-06T07:08:09.123Z"', '"2024-05-06T07:08:09"'], "timestamp"),
        (['"2024-05-06T07:08:09Z"', '"soon"'], "string"),
        (['"2024-05-06T07:08:09Z"', '"2024-05-06 07:08:09 UTC"'], "string"),
        (['"2024-05-06 07:08:09 +02:00"'], "string"),
        (['"2024-05-06 07:08:09 "'], "string"),
        (['"1"', '"2"'], "string"),
        (["[1, null]", "[]"], "array<long>"),
        (["[]"], "array<string>"),
        (['[{"b": 1}, {"c": [2.5]}]'], "array<struct<b: long, c: array<double>>>"),
        (['{"b c": true, "d`": "x"}'], "struct<`b c`: boolean, `d```: string>"),
    ],
)
def test_a_field_has_the_first_type_that_holds_its_values(values: list[str], kind: str) -> None:
    """As the schema's text names it."""
    found = inferred(*(f'{{"a": {value}}}' for value in values))

    assert found == Inferred(schema=f"a {kind}")


def test_columns_are_in_the_order_in_which_they_occur() -> None:
    """Also those that the first records lack."""
    assert inferred('{"b": 1}', '{"a": 1, "b": 2, "c": 3}').schema == "b long, a long, c long"


def test_what_no_column_holds_is_said() -> None:
    """With the place in the record, and how often it occurs."""
    found = inferred('{"a": {"b": [1, "x", 2]}, "e": {}}', '{"a": "y"}', '{"a": {}}', "[]", "tru")

    assert found.schema == "a struct<b: array<long>>"
    assert found.others == 2
    assert found.unfit == (
        "a: values of several types, of which the column holds the first: 2 object, 1 string",
        "a.b[]: values of several types, of which the column holds the first: 2 number, 1 string",
        "e: left out, as there are only objects without fields",
    )


@pytest.mark.parametrize("records", [["[]", "1"], ["{}", '{"": 1}']])
def test_records_without_fields_have_no_schema(records: list[str]) -> None:
    """The error says what to do."""
    with pytest.raises(RecordError, match="none of 2 records in the sample is a JSON object with fields; check the"):
        inferred(*records)


def test_elements_of_an_array_are_records() -> None:
    """In any layout."""
    sample = sampled('[{"a": 1},\n {"a": 2.5}]', JsonArray())

    assert infer_schema([sample]).schema == "a double"


_KEYS = st.text(min_size=1, max_size=4)
_TIMES = st.builds(
    lambda at, zone: f"{at}{zone}", st.datetimes(), st.sampled_from(["", "Z", "+02:00", " UTC", " -01", " "])
)
_TEXTS = st.text(max_size=5) | st.dates().map(str) | _TIMES
_ATOMS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False, allow_infinity=False)
_VALUES = st.recursive(
    _ATOMS | _TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3), max_leaves=6
)


@given(st.lists(st.dictionaries(_KEYS, _VALUES, max_size=3), min_size=1, max_size=4))
def test_the_records_are_good_under_their_schema(records: list[dict[str, object]]) -> None:
    """Unless something is said of them."""
    lines = [json.dumps(record | {"number": number}) for number, record in enumerate(records)]
    found = inferred(*lines)

    source, fmt = open_source(io.BytesIO("\n".join(lines).encode()), make_format(JsonLines(schema=found.schema)))
    bad = [record for chunk in sample_file(source, fmt, 2**20).chunks for record in fmt.decoder().decode(chunk).bad]

    assert isinstance(fmt.decoder(), JsonDecoder)
    assert found.unfit or not bad
