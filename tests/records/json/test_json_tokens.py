"""Tokens of JSON values, in fields of the schema and in others; and adjacent values."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from typing import Any

import pytest

from airflow_provider_blockread.records import read_records, record_format, scan_block
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import walk_block

SCHEMA = "id double"
_SOME = 20  # records of one layout, so many that they are read as columns


def decode(data: str, schema: str, **options: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the rows of a file and the reasons of its bad records."""
    raw = data.encode("utf-8", "surrogatepass")
    fmt = record_format("json_array" if options else "json_lines", schema=schema, **options)
    source, fmt = open_source(io.BytesIO(raw), fmt)
    rows, bad = [], []
    for chunk in walk_block(source, fmt, source.data_offset, source.size):
        decoded = fmt.decoder().decode(chunk)
        rows += decoded.batch.to_pylist()
        bad += [record.reason for record in decoded.bad]
    return rows, bad


def is_json(text: str) -> bool:
    """Return whether Python's parser accepts it."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def slow(value: Any) -> Any:
    """Return a case that `make unit` leaves out."""
    return pytest.param(value, marks=pytest.mark.slow)


LAX = [
    "Inf", "-Inf", "-NaN", "+NaN", "+Infinity", "nan", "inf", "INF", "Infinit", "InfinityX", "NaNs", "[Inf]",
    "[1,-NaN]", '{"x":Inf}', '[{"x":[-Inf]}]', '["Inf",Inf]', "// c\n1", "/* c */1", "1/* c */", "01", "-01", "00",
    "+1", ".5", "-.5", "1.", "1.e1", "1e", "1e+", "0x10", "1_000", "'a'", "[1,]", "[,1]", '{"a":1,}', "{,}", '"a\tb"',
    '"a\x00b"', '"\\x41"', '"\\u12"', "\ufeff1", "1\ufeff", "True", "None", "undefined", "nul", "truefalse",
    "nullnull", "1 2", '"a""b"', '"a"1', "[1 2]", "[1,,2]", '{"a" 1}', "{a:1}", "{1:1}", "1\x0b", "1\x00", "\u00a01",
    "- 1", "--1", "1-", "1.5.5",
]  # fmt: skip


@pytest.mark.parametrize("token", LAX)
@pytest.mark.parametrize(
    "schema", [SCHEMA, *(slow(other) for other in ("id string", "id array<double>", "other long"))]
)
@pytest.mark.parametrize("times", [1, slow(_SOME)])
def test_what_is_no_json_is_bad_in_every_field(token: str, schema: str, times: int) -> None:
    """Python's parser refuses it, too; its neighbours keep their rows."""
    line = f'{{"id":{token}}}'
    assert not is_json(line)

    good, wrong = ['{"other":1}'] * _SOME, [line.replace("\n", " ")] * times
    rows, bad = decode("\n".join([*good, *wrong, *good]), schema)
    assert len(rows) == 2 * _SOME
    assert len(bad) == times


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity", '"Inf"', '", Inf,"', '"\\", -NaN ]"', "-0", "1E5"])
@pytest.mark.parametrize("times", [1, _SOME])
def test_what_python_takes_is_taken(token: str, times: int) -> None:
    """A field that is left out may contain it; so may a double, if it is a number."""
    line = f'{{"id":{token}}}'
    value = json.loads(line)["id"]

    assert decode("\n".join([line] * times), "other long") == ([{"other": None}] * times, [])
    if isinstance(value, float):
        rows, bad = decode("\n".join([line] * times), SCHEMA)
        assert [str(row["id"]) for row in rows] == [str(value)] * times
        assert not bad


@pytest.mark.parametrize("schema", ["id {}", "id array<{}>", "id struct<x: {}>", "id array<struct<x: array<{}>>>"])
@pytest.mark.parametrize(
    ("kind", "number", "fits"),
    [
        ("double", "1e400", False),
        ("double", "-1e400", False),
        ("double", "9" * 310, False),
        ("double", "9" * 310 + ".5", False),
        ("double", "9" * 5000, False),
        ("double", "1" + "0" * 308, True),
        ("double", "1.7976931348623157e308", True),
        ("double", "1e-400", True),
        ("real", "1e39", False),
        ("real", "-" + "9" * 40, False),
        ("real", "3.4028235e38", True),
    ],
)
def test_a_number_too_large_for_its_type_is_bad(schema: str, kind: str, number: str, fits: bool) -> None:  # noqa: FBT001
    """No number becomes infinite except the literals of infinity."""
    around = {"id {}": "@", "id array<{}>": "[@]", "id struct<x: {}>": '{"x":@}'}.get(schema, '[{"x":[@]}]')
    lines = [f'{{"id":{around.replace("@", text)}}}' for text in ("1", number, "-Infinity", "NaN")]
    rows, bad = decode("\n".join(lines), schema.format(kind))

    assert (len(rows), len(bad)) == ((4, 0) if fits else (3, 1))
    assert "inf" in str(rows[-2])
    assert "inf" not in str(rows[:-2])


@pytest.mark.parametrize(
    ("line", "good"),
    [
        ('{"id":1,"id":2}', False),
        ('{"id":1,"q":1,"q":2}', True),
        ('{"id":1,"q":{"x":1,"x":2}}', True),
        ('{"id":1,"q":"\\ud800"}', False),
        ('{"id":1,"\\ud800":1}', False),
        ('{"id":1,"q":"\\udc00\\ud800"}', False),
        ('{"id":1,"q":"\ud800"}', False),
        ('{"id":1,"q":1e400}', False),
        (f'{{"id":1,"q":{"9" * 400}}}', True),
        (f'{{"id":1,"q":{"9" * 5000}}}', True),
        ('{"id":1,"q":1e-400}', True),
    ],
)
def test_fields_that_are_left_out_are_held_to_what_the_docs_say(line: str, good: bool) -> None:  # noqa: FBT001
    """docs/formats.md has these cases in a table."""
    rows, bad = decode(line, SCHEMA)

    assert (rows, len(bad)) == (([{"id": 1.0}], 0) if good else ([], 1))


TOUCHING = {
    '"duck""goose"': ['"duck"', '"goose"'],
    '1"a"': ["1", '"a"'],
    '"a"1': ['"a"', "1"],
    'null"a"null': ["null", '"a"', "null"],
    "true[1]": ["true", "[1]"],
    "[]1": ["[]", "1"],
    "{}{}": ["{}", "{}"],
    '{}"a"[]': ["{}", '"a"', "[]"],
    '"a"{"b":"c"}"d"': ['"a"', '{"b":"c"}', '"d"'],
    '"\\""[]""': ['"\\""', "[]", '""'],
    "1 2": ["1", "2"],
    '""""': ['""', '""'],
    "truefalse": ["truefalse"],
    "1-2": ["1-2"],
    "{},{}": ["{}", ",", "{}"],
    '\\"a"1': ['\\"a', '"1'],
}


@pytest.mark.parametrize("text", TOUCHING)
@pytest.mark.parametrize("encoding", ["utf-8", slow("utf-16")])
def test_values_that_touch_are_values_apart(text: str, encoding: str) -> None:
    """A string and a bracket begin and end values, at every pair of split points."""
    data = text.encode(encoding)
    fmt = record_format("json_array", layout="values")
    for first in range(len(data)):
        for second in range(first, len(data)):
            found, state = [], fmt.initial_state
            for start, end in pairwise([0, first, second, len(data)]):
                found += [record for _, record in read_records(io.BytesIO(data), start, end, fmt, entry_state=state)]
                state = scan_block(io.BytesIO(data), start, end, fmt)(state)

            assert found == [value.encode() for value in TOUCHING[text]], (first, second)


@pytest.mark.parametrize("text", TOUCHING)
def test_what_touches_an_object_is_bad_and_the_object_is_not(text: str) -> None:
    """With a schema, the objects in a sequence of values are rows."""
    rows, bad = decode(f'{{"id":1}}{text}{{"id":2}}', SCHEMA, layout="values")
    objects = sum(value.startswith("{") for value in TOUCHING[text])

    if text.count('"') % 2 == 0 and not text.startswith("\\"):
        assert [row["id"] for row in rows if row["id"]] == [1, 2]
        assert len(rows) == 2 + objects
        assert len(bad) == len(TOUCHING[text]) - objects


def test_a_csv_row_with_a_nul_byte_is_bad_alone() -> None:
    """Python's reader accepts it; here it mostly means UTF-16 without the option."""
    data = b'1,a\n2,b\x00\n3,"c\x00"\n4,d\n'
    fmt = record_format("csv", schema="id long, text string")
    source, fmt = open_source(io.BytesIO(data), fmt)
    (chunk,) = walk_block(source, fmt, 0, len(data))
    decoded = fmt.decoder().decode(chunk)

    assert decoded.batch["id"].to_pylist() == [1, 4]
    assert [(bad.index, "NUL byte" in bad.reason) for bad in decoded.bad] == [(1, True), (2, True)]
