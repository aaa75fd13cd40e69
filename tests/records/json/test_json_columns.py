"""Objects of the same layout, read by column: the same rows and bad records as for each record alone."""

from __future__ import annotations

import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from airflow_provider_blockread.records import record_format
from airflow_provider_blockread.records.json import decode as decoding
from airflow_provider_blockread.records.json.columns import ColumnReader
from airflow_provider_blockread.records.model import Chunk
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import walk_block
from tests.examples import examples

SCHEMA = "id long, small byte, size double, part float, ok boolean, level string, raw binary, at timestamp"
Rows = list[object]


def chunk_of(data: bytes) -> Chunk:
    """Return the lines of a file, blank ones left out."""
    source, fmt = open_source(io.BytesIO(data), record_format("json_lines"))
    (chunk,) = walk_block(source, fmt, 0, source.size)
    return chunk


def decode(lines: list[bytes], schema: str = SCHEMA) -> tuple[Rows, list[int]]:
    """Return the rows of lines none of which is blank, and which of the lines are bad."""
    decoded = record_format("json_lines", schema=schema).decoder().decode(chunk_of(b"\n".join(lines)))
    decoded.batch.validate(full=True)
    rows = [tuple(map(repr, row.values())) for row in decoded.batch.to_pylist()]
    return rows, [record.index for record in decoded.bad]


def alone(lines: list[bytes], schema: str = SCHEMA) -> tuple[Rows, list[int]]:
    """Return the same, with each line read alone."""
    each = {line: decode([line], schema) for line in set(lines)}
    return [row for line in lines for row in each[line][0]], [i for i, line in enumerate(lines) if each[line][1]]


def taken(lines: list[bytes], schema: pa.Schema) -> int:
    """Return how many of the lines are read by columns."""
    parts = ColumnReader(schema).read(chunk_of(b"\n".join(lines)))
    assert all(len(indices) == table.num_rows for indices, table in parts)
    return len(np.unique(np.concatenate([indices for indices, _ in parts]))) if parts else 0


NUMBERS = (
    "0 -0 7 -7 127 128 -128 -129 00 01 -01 - -- 1- 1.5 -1.5 0.5 -0.5 .5 -.5 5. 1.e3 1e5 1E5 1e-5 1e+5 1e400 1e-400"
    " 1e-40 0e0 3.4028235677973366e38 3.4028235677973367e38 -3.40282356779733661637539395458142568447e38"
    " 1.2.3 0x1F NaN -Infinity inf nan +1 1_0 null nul null1 true false TRUE 9223372036854775807"
    " 9223372036854775808 -9223372036854775808 123456789012345678901234567890123 0.1000000000000000055511151231257827"
    " [] [1] {} 1,2 '' 1:2 //"
)
bare = st.sampled_from([*NUMBERS.encode().split(b" "), b"", b"1 ", b" 1\t", b"5\r"])
text = st.lists(
    st.sampled_from(
        [b"a", b'"', b"\\", b"\\n", b"\\u00e9", b"\\ud800", b"\t", b"\x00", b"\x1f", b"\x7f", b"\xff", "é".encode(),
         b"\xc3", b"\r", b",", b'","x":"', b'","id":1,"y":"', b"null", b"2024-05-06", b"T07:08:09", b".5Z",
         b"2024-13-01"]
    ),
    max_size=2,
).map(b"".join)  # fmt: skip
quoted = text.map(lambda value: b'"' + value + b'"')
special = st.sampled_from(list(b'"\\,:{}[] \t\r\x00\x1f\xff\xc30-.e'))
names = st.lists(st.sampled_from([b"id", b"size", b"ok", b"level", b"at", b"x", "é".encode()]), min_size=1, max_size=4)
USUAL = {b"ok": b"true", b"level": b'"INFO"', b"raw": b'"x"', b"at": b'"2024-05-06T07:08:09Z"', b"x": b'"y"'}


@st.composite
def files(draw: st.DrawFn) -> list[bytes]:
    """Return lines most of which have one layout, a few odd values, and some damaged bytes."""
    members, joins = draw(names), draw(st.sampled_from([(b": ", b", "), (b":", b","), (b"\t: ", b" ,\r ")]))
    closing = draw(st.sampled_from([b"}", b" }", b"}\r"]))

    def line(values: list[bytes]) -> bytes:
        pairs = [b'"' + name + b'"' + joins[0] + value for name, value in zip(members, values, strict=True)]
        return b"{" + joins[1].join(pairs) + closing

    usual = [draw(st.sampled_from([USUAL.get(name, b"12"), b"null"])) for name in members]
    lines = [line(usual)] * (16 * len(members))
    for _ in range(draw(st.integers(1, 5))):
        values = list(usual)
        values[draw(st.integers(0, len(usual) - 1))] = draw(quoted | bare)
        odd = bytearray(line(values))
        if draw(st.booleans()):
            at = draw(st.integers(0, len(odd)))
            odd[at : at + draw(st.integers(0, 1))] = bytes([draw(special)])
        lines.insert(draw(st.integers(0, len(lines))), bytes(odd))
    return [line for line in lines if line.strip(b" \t\r")]


@examples(300)
@given(lines=files())
@example(lines=[b'{"id": 1}'] * 20 + [b'{"id": 1, "x": 5}', b'{"id": 1}{"id": 2}', b'{"id": [1}', b'{"id": 01}'])
def test_a_record_is_read_as_if_it_stood_alone(lines: list[bytes]) -> None:
    """Rows, their order and the bad records are those of each line alone, whatever the other lines are."""
    assert decode(lines) == alone(lines)


@examples(300)
@given(
    value=bare | quoted,
    name=st.sampled_from(["id", "small", "size", "part", "ok", "level", "raw", "at", "x"]),
    others=st.sampled_from([[], [b'{"small": 128}'], [b'{"id": 1}{"id": 2}'], [b"\xff", b"{"]]),
)
@example(value=b"3.4028235677973366e38", name="part", others=[b'{"small": 128}'])
def test_each_value_is_judged_as_the_parser_judges_it(value: bytes, name: str, others: list[bytes]) -> None:
    """A single odd value among usual ones has the same result as alone, also beside bad records."""
    usual = USUAL.get(name.encode(), b"12")
    lines = [b'{"%s": %s, "z": 0}' % (name.encode(), usual if i != 20 else value) for i in range(40)] + others

    assert decode(lines) == alone(lines)


@pytest.mark.parametrize(
    "at", ["1677-09-21T00:12:44", "1677-09-21T00:12:43", "2262-04-11T23:47:16", "2262-04-12T00:00:00"]
)
def test_a_time_beyond_nanoseconds_is_a_bad_record(at: str) -> None:
    """It is written as others are that fit."""
    usual = b'{"at": "2024-05-06T07:08:09"}'
    rows, bad = decode([usual, b'{"at": "%s"}' % at.encode(), usual], "at timestamp[ns]")

    assert bad == ([1] if at in {"1677-09-21T00:12:43", "2262-04-12T00:00:00"} else [])
    assert len(rows) + len(bad) == 3


def test_usual_lines_are_read_by_columns() -> None:
    """Lines of one program are read by columns: numbers, booleans, text and null; text with an escape is not."""
    lines = [
        b'{"id": %d, "size": %.3f, "ok": %s, "msg": "\xc3\xa9", "part": null}' % (i, i / 8, [b"true", b"false"][i % 2])
        for i in range(-100, 100)
    ]  # fmt: skip
    schema = pa.schema({"id": pa.int64(), "size": pa.float64(), "ok": pa.bool_(), "msg": pa.string()})

    assert taken(lines, schema) == 200
    assert taken([*lines, b'{"id": 1, "size": 1.5, "ok": true, "msg": "a\\n", "part": null}'], schema) == 200


def test_a_few_layouts_share_a_file() -> None:
    """Lines whose text is sometimes null, and lines of another program, are both read by columns."""
    lines = [
        [b'{"id": %d, "msg": "a"}' % i, b'{"id": %d, "msg": null}' % i, b'{"msg":"b","id":%d}' % i][i % 3]
        for i in range(300)
    ]
    rows, bad = decode(lines, "id long, msg string")

    assert taken(lines, pa.schema({"id": pa.int64(), "msg": pa.string()})) == 300
    assert rows == [(str(i), ["'a'", "None", "'b'"][i % 3]) for i in range(300)]
    assert not bad


@pytest.mark.parametrize(
    "line",
    [b'{"id": 1, "id": 2}', b'{"id": "1"}', b'{"a": [1]}', b'{"a": {}}', b"{}", b'{"a\\u0062": 1}', b'{"x": 5}', b"[1]",
     b"", b'{"\xff": 1}', b'{"id": 1,}', b'{"id" 1}'],
)  # fmt: skip
def test_other_lines_are_left_to_the_parser(line: bytes) -> None:
    """Duplicate names, values that are nested or of another type, and records that are not objects."""
    assert taken([line or b"5"] * 100, pa.schema({"id": pa.int64(), "x": pa.list_(pa.int64())})) == 0


def test_torn_lines_cost_no_copy_of_the_chunk_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that begins with a whole object shifts the row that the parser names."""
    lines = [b'{"id":1}torn","ok":true}' if number % 3 == 0 else b'{"id":%d}' % number for number in range(900)]
    copied, find = [], decoding.find_objects
    monkeypatch.setattr(decoding, "find_objects", lambda *given, **how: copied.append(1) or find(*given, **how))
    rows, bad = decode(lines, "id long")

    assert rows == [(str(number),) for number in range(900) if number % 3]
    assert bad == list(range(0, 900, 3))
    assert len(copied) < 10
