"""JSON lines to typed columns, as Python's parser reads them, whatever the neighbours are."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.records import record_format
from airflow_provider_blockread.records.columns.schema import parse_schema
from airflow_provider_blockread.records.json.decode import JsonDecoder
from airflow_provider_blockread.records.model import Decoded
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, walk_block
from tests.examples import examples
from tests.records.csv.csv_oracle import instant

SCHEMA = "id long, small byte, level string, value double, ok boolean, at timestamp, tags array<long>, on struct<x:int>"
Rows = list[dict[str, Any]]


def decode(data: bytes, schema: str, chunk_bytes: int = 2**20) -> tuple[list[Decoded], list[bytes], Rows, set[bytes]]:
    """Return what each chunk of a file decodes to, all records, all rows, and the bytes of the bad records."""
    source, fmt = open_source(io.BytesIO(data), record_format("json_lines", schema=schema))
    decoder = fmt.decoder()
    parts, records, rows, bad = [], [], [], set()
    for chunk in walk_block(source, fmt, source.data_offset, len(data), WalkLimits(chunk_bytes=chunk_bytes)):
        decoded = decoder.decode(chunk)
        assert decoded.batch.schema == decoder.schema
        assert decoded.batch.num_rows + len(decoded.bad) == len(chunk.ends)
        decoded.batch.validate(full=True)
        parts.append(decoded)
        records += [chunk.record(i) for i in range(len(chunk.ends))]
        rows += decoded.batch.to_pylist()
        bad |= {chunk.record(record.index) for record in decoded.bad}
    return parts, records, rows, bad


class Pairs(dict[str, Any]):
    """A JSON object that knows its duplicate names."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        """Take the pairs of the object."""
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.twice = {name for name in names if names.count(name) > 1}


def finite(text: str) -> float:
    """Return the number, which must fit a double."""
    number = float(text)
    if abs(number) == float("inf"):
        raise ValueError(text)
    return number


def typed(value: Any, kind: str) -> Any:  # noqa: C901, PLR0911 - one case a type
    """Return a JSON value in a column's type, or raise ValueError."""
    if value is None:
        return None
    if kind in {"long", "byte", "int"} and type(value) is int:
        bits = {"long": 63, "byte": 7, "int": 31}[kind]
        if -(2**bits) <= value < 2**bits:
            return value
    if kind == "double" and type(value) in {int, float}:
        return float(value)
    if kind == "string" and isinstance(value, str):
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "timestamp" and isinstance(value, str):
        return instant(value)
    if kind == "array" and isinstance(value, list):
        return [typed(item, "long") for item in value]
    if kind == "struct" and isinstance(value, Pairs) and "x" not in value.twice:
        return {"x": typed(value.get("x"), "int")}
    raise ValueError(value)


def expected_row(line: bytes) -> dict[str, Any] | None:
    """Return the row that a line is, or None for a bad record, by Python's parser."""
    try:
        value = json.loads(line.decode(), object_pairs_hook=Pairs, parse_float=finite)
        json.dumps(value, ensure_ascii=False).encode()  # fails on a lone surrogate
        kinds = {name: kind.partition("<")[0] for name, kind in (column.split(" ") for column in SCHEMA.split(", "))}
        if not isinstance(value, Pairs) or value.twice & set(kinds):
            return None
        return {name: typed(value.get(name), kind) for name, kind in kinds.items()}
    except (ValueError, OverflowError):
        return None


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
times = st.builds(
    lambda day, join, clock, fraction, zone: f"{day}{join}{clock}{fraction}{zone}",
    st.sampled_from(["2024-05-06", "1969-12-31", "2000-02-29"]),
    st.sampled_from("T "),
    st.sampled_from(["07:08:09", "23:59:59"]),
    st.sampled_from(["", ".5", ".123456", ".123456789"]),
    st.sampled_from(["", "Z", "+01:00", "-05:30"]),
) | st.just("2024-05-06")
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.integers(-200, 200), texts, times,
    st.floats(allow_nan=False, allow_infinity=False),
)  # fmt: skip
fitting = st.fixed_dictionaries(
    {},
    optional={
        "id": st.none() | st.integers(-(2**63), 2**63 - 1),
        "small": st.none() | st.integers(-128, 127),
        "level": st.none() | texts,
        "value": st.none() | st.integers(-1000, 1000) | st.floats(allow_nan=False, allow_infinity=False),
        "ok": st.none() | st.booleans(),
        "at": st.none() | times,
        "tags": st.none() | st.lists(st.none() | st.integers(-5, 5), max_size=3),
        "on": st.none() | st.fixed_dictionaries({"x": st.none() | st.integers(-5, 5)}, optional={"y": scalars}),
        "extra": scalars,
    },
)
names = st.sampled_from(["id", "small", "level", "value", "ok", "at", "tags", "on", "extra"])
misfits = st.dictionaries(names, scalars | st.lists(scalars, max_size=2) | st.dictionaries(names, scalars, max_size=2))
dumped = st.builds(
    lambda value, ascii_only: json.dumps(value, ensure_ascii=ascii_only).encode(), fitting | misfits, st.booleans()
)
junk = st.lists(
    st.sampled_from(
        [b"{", b"}", b"[", b"]", b'"', b":", b",", b'"id"', b'"id":1', b"1", b" ", b"null", b"{}", b'{"id":2}', b"\xff",
         b"\\ud800", b"\t", b"\x00", b"\xef\xbb\xbf", b"1.5", b'"at":"2024-05-06"', b'"level":', b"NaN", b"\xc3",
         b'{"q":Inf}', b'{"q":[-NaN]}', b'{"value":-Inf}', b'{"level":"x, Inf, -NaN "}',
         b'{"value":1' + b"0" * 309 + b"}"]
    ),
    max_size=6,
).map(b"".join)  # fmt: skip
doubled = dumped.map(lambda line: line + line)
padded = st.builds(lambda left, line, right: left + line + right, st.sampled_from([b"", b" ", b"\t"]), dumped,
                   st.sampled_from([b"", b" ", b"\r"]))  # fmt: skip
lines = st.lists(dumped | dumped | padded | junk | doubled, max_size=8)


@examples(300)
@given(lines=lines, chunk=st.sampled_from([16, 64, 2**20]))
def test_rows_are_those_that_pythons_parser_gives(lines: list[bytes], chunk: int) -> None:
    """Each record is a row with Python's values or a bad record, whatever its neighbours are."""
    _, records, rows, bad = decode(b"\n".join(lines), SCHEMA, chunk)
    kept = [line for line in lines if line.strip(b" \t\r")]
    if kept and lines[0].startswith(b"\xef\xbb\xbf"):
        kept = kept if kept[0] != lines[0] else [lines[0][3:], *kept[1:]]
    kept = [line for line in kept if line.strip(b" \t\r")]
    expected = [expected_row(line) for line in kept]

    assert records == kept
    assert bad == {line for line, row in zip(kept, expected, strict=True) if row is None}
    assert rows == [row for row in expected if row is not None]


@pytest.mark.parametrize(
    "line",
    [
        b"null", b"5", b'"x"', b"[]", b"{", b"}", b'{"id":1}}', b'{"id":1}{"id":2}', b'{"id":1} {"id":2}',
        b'{"id":1}x}',
        b"{}null", b"{}null{}", b'{"id":1,}', b'{"id":1,"id":2}', b'{"id":1.0}', b'{"id":1e3}', b'{"id":NaN}',
        b'{"id":9223372036854775808}', b'{"id":"1"}', b'{"id":true}', b'{"small":128}', b'{"level":"\xff"}',
        b'{"level":5}',
        b'{"\xff":1}', b'{"level":"\\ud800"}', b'{"level":"a\tb"}', b'{"at":"yesterday"}', b'{"at":""}', b'{"at":5}',
        b'{"at":"2024-02-30"}', b'{"tags":[1,"x"]}', b'{"tags":{}}', b'{"on":{"x":1.5}}', b'{"on":[]}', b'{"id":1}\x00',
        b"\xef\xbb\xbf{}", b"// {}", b'{"id":01}', b"{'id':1}",
    ],
)  # fmt: skip
def test_a_bad_record_is_bad_alone(line: bytes) -> None:
    """Each kind of bad record is reported with a reason; the records around it keep their rows."""
    good = [b'{"id":%d}' % i for i in range(20)]
    data = b"\n".join([*good[:10], line, *good[10:]])
    parts, _, rows, bad = decode(data, SCHEMA)

    assert [row["id"] for row in rows] == list(range(20))
    assert bad == {line}
    assert [(record.index, bool(record.reason)) for record in parts[0].bad] == [(10, True)]


def test_the_largest_unsigned_numbers_are_good_beside_a_bad_record() -> None:
    """They are checked by themselves there; negative ones and larger ones are bad."""
    schema = "id uint8, wide uint64"
    good, bad = (255, 2**64 - 1), [b'{"id":256}', b'{"id":-1}', b'{"wide":18446744073709551616}']
    _, _, rows, found = decode(b'{"id":%d,"wide":%d}\n' % good + b"\n".join(bad), schema)

    assert [tuple(row.values()) for row in rows] == [good]
    assert found == set(bad)


@pytest.mark.parametrize("pair", [(b'{"id":', b"1}"), (b'{"id":1', b"}"), (b"{", b'"id":1}'), (b'{"level":"a', b'b"}')])
def test_a_value_on_two_lines_is_two_bad_records(pair: tuple[bytes, bytes]) -> None:
    """Arrow's parser would read both as one row."""
    _, _, rows, bad = decode(b'{"id":1}\n' + b"\n".join(pair) + b'\n{"id":2}', SCHEMA)

    assert [row["id"] for row in rows] == [1, 2]
    assert bad == set(pair)


def test_mistakes_that_cancel_out_are_still_found() -> None:
    """A value on two lines and two values on one line give the right number of rows, but are three bad records."""
    lines = [b'{"id":1}', b'{"on":', b'{"x":1}}', b'{"id":2}{"id":3}', b'{"id":4}']
    _, _, rows, bad = decode(b"\n".join(lines), SCHEMA)

    assert [row["id"] for row in rows] == [1, 4]
    assert bad == set(lines[1:4])


def test_blank_lines_are_neither_rows_nor_bad() -> None:
    """Lines of white space are skipped, and CRLF ends a line as LF does."""
    parts, records, rows, _ = decode(b'\n{"id":1}\r\n \t\r\n\r\n{"id":2}\r\n\n', SCHEMA)

    assert [row["id"] for row in rows] == [1, 2]
    assert len(records) == 2
    assert not parts[0].bad


def test_local_times_must_not_have_a_zone() -> None:
    """A `timestamp_ntz` is the time as written; one with a zone is a bad record."""
    lines = [b'{"t":"2024-05-06T07:08:09"}', b'{"t":"2024-05-06T07:08:09Z"}', b'{"t":"2024-05-06 07:08:09.1234567"}']
    _, _, rows, bad = decode(b"\n".join(lines), "t timestamp_ntz")

    assert [row["t"] for row in rows] == [datetime(2024, 5, 6, 7, 8, 9, f) for f in (0, 123456)]  # noqa: DTZ001 - local
    assert bad == {lines[1]}


def test_times_are_converted_at_any_depth() -> None:
    """Instants inside arrays and structs are UTC too, and nulls there stay nulls."""
    schema = "x array<struct<at:array<timestamp>,on:date>>"
    lines = [
        b'{"x":[{"at":["2024-05-06T01:00:00+01:00",null,"2024-05-06"],"on":"2024-05-06"},null]}',
        b'{"x":null}',
        b'{"x":[]}',
        b'{"x":[{"at":["soon"]}]}',
    ]
    _, _, rows, bad = decode(b"\n".join(lines), schema)
    midnight = datetime(2024, 5, 6, tzinfo=UTC)

    first = [{"at": [midnight, None, midnight], "on": date(2024, 5, 6)}, None]
    assert [row["x"] for row in rows] == [first, None, []]
    assert bad == {lines[3]}


def test_other_types_are_read_as_spark_reads_them() -> None:
    """Decimals come from numbers or text, NaN and Infinity are doubles, binary is a string's bytes."""
    _, _, rows, bad = decode(
        b'{"d":1.5,"f":NaN,"b":"\xc3\xa9"}\n{"d":"2.25","f":-Infinity}\n{"d":1.005}',
        "d decimal(5,2), f double, b binary",
    )

    assert [row["d"] for row in rows] == [Decimal("1.50"), Decimal("2.25")]
    assert [str(row["f"]) for row in rows] == ["nan", "-inf"]
    assert rows[0]["b"] == b"\xc3\xa9"
    assert bad == {b'{"d":1.005}'}


def test_many_bad_records_cost_no_more_than_looking_at_each() -> None:
    """Half of the records are bad in four ways; each is reported, and the others keep their order."""
    bad = [b'{"id":"x"}', b'{"at":"never"}', b"oops", b'{"id":1]}']
    lines = [b'{"id":%d}' % i if i % 2 else bad[i // 2 % 4] for i in range(2000)]
    _, _, rows, found = decode(b"\n".join(lines), SCHEMA)

    assert [row["id"] for row in rows] == list(range(1, 2000, 2))
    assert found == set(bad)


@pytest.mark.parametrize(
    "schema",
    ["", "id", "id a, id b", "id nosuch", "id decimal(39,2)", "id array<nosuch>", "id array<struct<at: time32[s]>>"],
)
def test_a_schema_that_cannot_be_is_refused(schema: str) -> None:
    """The error shows the schema."""
    with pytest.raises(OptionsError, match="schema"):
        JsonDecoder(schema)


@pytest.mark.parametrize(
    "kind",
    ["boolean", "tinyint", "smallint", "integer", "bigint", "real", "double", "string", "binary", "date", "timestamp",
     "timestamp_ntz", "decimal(38,0)", "array<array<date>>", "struct<`a b`:timestamp, c: array<decimal(5,1)>>"],
)  # fmt: skip
def test_every_type_of_a_schema_can_be_read(kind: str) -> None:
    """JSON can be read as each type that a schema may name; a missing field is null."""
    _, _, rows, bad = decode(b'{}\n{"x":null}', f"x {kind}")
    assert rows == [{"x": None}] * 2
    assert not bad


def test_names_inside_structs_keep_their_case() -> None:
    """Only type names ignore case: a struct's field is found under its exact name."""
    on = parse_schema("on STRUCT<UserId: LONG, `a B`: Array<Struct<X: date>>>").field("on")
    assert on.type.names == ["UserId", "a B"]
