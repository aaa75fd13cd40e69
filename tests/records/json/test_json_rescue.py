"""What fits no column of JSON objects is kept: nothing vanishes, and what fits is as without it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.records import record_format
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, walk_block
from tests.examples import examples

SCHEMA = "id long, level string, `a/~b` boolean, on struct<x:int>, list array<struct<y:string>>"

Rows = list[dict[str, Any]]


def read(data: bytes, schema: str = SCHEMA, *, kind: str = "json_lines", chunk_bytes: int = 2**20) -> tuple[Rows, Rows]:
    """Return all rows, and the bad records by their text and reason."""
    source, fmt = open_source(io.BytesIO(data), record_format(kind, schema=schema, rescue=True))
    decoder, rows, bad = fmt.decoder(), [], []
    for chunk in walk_block(source, fmt, source.data_offset, len(data), WalkLimits(chunk_bytes=chunk_bytes)):
        decoded = decoder.decode(chunk)
        assert decoded.batch.schema == decoder.schema
        assert decoded.batch.num_rows + len(decoded.bad) == len(chunk.ends)
        decoded.batch.validate(full=True)
        rows += decoded.batch.to_pylist()
        bad += [{"record": chunk.record(one.index), "reason": one.reason} for one in decoded.bad]
    return rows, bad


FITS: dict[str, Callable[[Any], bool]] = {
    "long": lambda value: type(value) is int and -(2**63) <= value < 2**63,
    "int": lambda value: type(value) is int and -(2**31) <= value < 2**31,
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "struct": lambda value: isinstance(value, dict) and fits(value.get("x"), "int"),
    "item": lambda value: isinstance(value, dict) and fits(value.get("y"), "string"),
    "array": lambda value: isinstance(value, list) and all(fits(item, "item") for item in value),
}


def fits(value: Any, kind: str) -> bool:
    """Return whether a value fits a column, by the definition."""
    return value is None or FITS[kind](value)


KINDS = {"id": "long", "level": "string", "a/~b": "boolean", "on": "struct", "list": "array"}
NAMED = {"on": ("x",), "list": ("y",)}


def expected_row(record: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of a record, and what fits none by its path."""
    row: dict[str, Any] = dict.fromkeys(KINDS)
    found: dict[str, Any] = {}
    for name, value in record.items():
        path = "/" + name.replace("~", "~0").replace("/", "~1")
        if name not in KINDS or not fits(value, KINDS[name]):
            found[path] = value
        elif name in NAMED and value is not None:
            items = [(f"{path}/{i}", item) for i, item in enumerate(value)] if name == "list" else [(path, value)]
            known = [item and {key: item.get(key) for key in NAMED[name]} for _, item in items]
            known = [None if item is None else known[i] or {NAMED[name][0]: None} for i, (_, item) in enumerate(items)]
            row[name] = known if name == "list" else known[0]
            for at, item in items:
                found |= {f"{at}/{key}": inner for key, inner in (item or {}).items() if key not in NAMED[name]}
        else:
            row[name] = value
    return row | {"_rescued": found or None}


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), texts, st.floats(allow_nan=False, allow_infinity=False)
)
objects = st.dictionaries(
    st.sampled_from(["x", "y", "z"]), scalars | st.dictionaries(texts, scalars, max_size=1), max_size=2
)
anything = st.one_of(scalars, objects, st.lists(st.none() | objects | scalars, max_size=2))
fitting = {
    "id": st.none() | st.integers(-(2**63), 2**63 - 1),
    "level": st.none() | texts,
    "a/~b": st.none() | st.booleans(),
    "on": st.none() | st.fixed_dictionaries({"x": st.none() | st.integers(-5, 5)}, optional={"z": anything}),
    "list": st.none() | st.lists(st.none() | st.fixed_dictionaries({"y": texts}, optional={"z": scalars}), max_size=2),
}
clean = st.fixed_dictionaries({}, optional={name: value for name, value in fitting.items() if name in ("id", "level")})
odd = st.fixed_dictionaries({}, optional=fitting | {"more": anything, "m/~": scalars, "": scalars})
wild = st.dictionaries(st.sampled_from([*KINDS, "more"]), anything)
junk = st.sampled_from(
    [b"{", b"7", b"[1]", b'{"id":1}{"id":2}', b'{"id":1,"id":2}', b"null", b'{"more":Inf}', b'"\xff"']
)
lines = st.lists(clean | clean | odd | wild | junk, max_size=12)


@examples(300)
@given(lines=lines, repeated=st.sampled_from([1, 40]), chunk=st.sampled_from([16, 64, 2**20]), ascii_only=st.booleans())
def test_nothing_vanishes(lines: list[Any], repeated: int, chunk: int, *, ascii_only: bool) -> None:
    """Each object is a row with what fits its columns, and the rest of it by its path; only what is none is bad."""
    records = [
        line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=ascii_only).encode() for line in lines
    ]
    rows, bad = read(b"\n".join(records * repeated) + b"\n", chunk_bytes=chunk)

    expected = [expected_row(line) for line in lines if not isinstance(line, bytes)] * repeated
    for row in rows:
        row["_rescued"] = None if row["_rescued"] is None else json.loads(row["_rescued"])
    assert rows == expected
    assert [one["record"] for one in bad] == [line for line in lines if isinstance(line, bytes)] * repeated


def test_values_are_kept_as_they_are_written() -> None:
    """Digits of numbers, names that come twice, and halves of surrogate pairs; other names of numbers are text."""
    rescued = {
        '{"a":1.50,"b":%s,"a":1e999}' % ("9" * 5000): '{"/a":1.50,"/b":%s,"/a":1e999}' % ("9" * 5000),
        '{"a":NaN,"b":[-Infinity,{}]}': '{"/a":"NaN","/b":["-Infinity",{}]}',
        r'{"a":"\ud800ü","\u00fc/":"ü\n"}': r'{"/a":"\ud800\u00fc","/ü~1":"ü\n"}',
        '{"on": {"x": 1, "x": 2}, "id": 1.0}': '{"/on":{"x":1,"x":2},"/id":1.0}',
        '{"level":null,"on":{"x":3,"q":null}}': '{"/on/q":null}',
    }
    rows, bad = read("\n".join(rescued).encode())

    assert bad == []
    assert [row["_rescued"] for row in rows] == list(rescued.values())
    assert [row["on"] for row in rows] == [None, None, None, None, {"x": 3}]


def test_what_must_not_be_null_is_bad() -> None:
    """A value that does not fit leaves nothing in its column."""
    rows, bad = read(b'{"id":"x"}\n{"id":1,"n":"y"}\n{"n":1}\n', "id long not null, n int")

    assert rows == [{"id": 1, "n": None, "_rescued": '{"/n":"y"}'}]
    assert [one["reason"] for one in bad] == ["field 'id' is null, but the schema says not null"] * 2


@pytest.mark.parametrize("value", ["[" * 800 + "]" * 800, '{"a":' * 800 + "1" + "}" * 800])
def test_what_is_nested_deeply_is_rescued(value: str) -> None:
    """Almost as deeply as Python's parser reads it."""
    rows, bad = read(b'{"id":1,"more":%s}' % value.encode(), "id long")

    assert bad == []
    assert rows == [{"id": 1, "_rescued": f'{{"/more":{value}}}'}]


def test_what_is_nested_too_deeply_is_bad() -> None:
    """It cannot be rescued, so the record is not half published; what the schema knows is no deeper than it."""
    deep = b'{"id":1,"more":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    rows, bad = read(deep + b'\n{"id":2}\n', "id long")

    assert rows == [{"id": 2, "_rescued": None}]
    assert [one["reason"] for one in bad] == ["nested too deeply to rescue what fits no column"]


def test_elements_of_an_array() -> None:
    """Pretty-printed or not."""
    rows, bad = read(b'[{"id": 1,\n "more": [1,\n 2]}, {"id": "x"},\n{"id":3}]', "id long", kind="json_array")

    assert bad == []
    assert rows == [
        {"id": 1, "_rescued": '{"/more":[1,2]}'},
        {"id": None, "_rescued": '{"/id":"x"}'},
        {"id": 3, "_rescued": None},
    ]


@pytest.mark.parametrize("kind", ["json_lines", "json_array"])
def test_rescue_needs_a_schema(kind: str) -> None:
    """Without columns nothing can fail to fit one: refused; with a schema it is taken."""
    with pytest.raises(OptionsError, match="rescue=True needs a schema"):
        record_format(kind, rescue=True).decoder()

    assert record_format(kind, rescue=True, schema="id long").decoder().schema.names == ["id", "_rescued"]


def test_a_column_of_that_name() -> None:
    """Refused, and under another name it is taken."""
    with pytest.raises(OptionsError, match="has a column '_rescued', which rescue=True adds; give it another name"):
        record_format("json_lines", rescue=True, schema="_rescued string").decoder()

    assert record_format("json_lines", rescue=True, schema="saved string").decoder().schema.names[-1] == "_rescued"
