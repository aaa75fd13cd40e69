"""Elements of a JSON array as rows of a schema or as text, whatever their neighbours are."""

from __future__ import annotations

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records import RecordFormat, read_records, record_format, scan_block
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, walk_block


def decode(data: bytes, fmt: RecordFormat, chunk: int = 2**20) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Return the rows of a file and its bad records."""
    source, fmt = open_source(io.BytesIO(data), fmt)
    rows, bad = [], []
    for part in walk_block(source, fmt, source.data_offset, source.size, WalkLimits(chunk_bytes=chunk)):
        decoded = fmt.decoder().decode(part)
        decoded.batch.validate(full=True)
        rows += decoded.batch.to_pylist()
        bad += [part.record(record.index) for record in decoded.bad]
    return rows, bad


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("chunk", [16, 2**20])
def test_objects_of_an_array_become_rows(indent: int | None, chunk: int) -> None:
    """Elements that fit are rows, pretty-printed or not, and each of the others is bad alone."""
    good = [{"id": i, "text": text} for i, text in enumerate([None, "a,b", "]}", 'q"\\', "é\U0001f600"] * 5)]
    wrong = [1, None, "x", [], {"id": "x"}, {"id": 1.5}, {"text": 3}]
    data = json.dumps([*good[:9], *wrong, *good[9:]], indent=indent).encode()
    rows, bad = decode(data, record_format("json_array", schema="id long, text string"), chunk)

    assert rows == good
    assert [json.loads(text) for text in bad] == wrong


@pytest.mark.parametrize(
    "element",
    [b'{"a":"x\ny"}', b'{"a":"\\ud800"}', b'{"a":"\xff"}', b'{"id":1,"id":2}', b'{"id":1}{"id":2}', b"", b'{"id":1.0}',
     b'{"id":[1}]', b"{" * 10_000 + b"}" * 10_000, b'{"id":' + b"[" * 10_000 + b"]" * 10_000 + b"}", b"// {}"],
)  # fmt: skip
def test_an_element_is_bad_alone_and_among_others(element: bytes) -> None:
    """A bad element is bad whatever its neighbours are, and these keep their rows."""
    fmt = record_format("json_array", schema="id long, a string")
    among = b'[{"id":1},\n' + element + b', {"id":2},{"id":3}]'

    assert decode(b"[0," + element + b"]", fmt) == ([], [b"0", element])
    assert [row["id"] for row in decode(among, fmt)[0]] == [1, 2, 3]
    assert decode(among, fmt)[1] == [element]


def test_nesting_in_a_field_that_nobody_asks_for_does_no_harm() -> None:
    """Both the parser and the framing skip ten thousand brackets."""
    deep = b'[{"id":1,"q":' + b"[" * 10_000 + b"]" * 10_000 + b'},{"id":NaN},{"id":2}]'
    rows, bad = decode(deep, record_format("json_array", schema="id long"))

    assert [row["id"] for row in rows] == [1, 2]
    assert bad == [b'{"id":NaN}']


def test_without_a_schema_the_text_of_each_element_is_a_row() -> None:
    """Elements of all kinds are returned as they are written; a missing one is bad, as is one that is not UTF-8."""
    rows, bad = decode(b'[1, {"a" : 2},, "\xff", [3 ],]', record_format("json_array"))

    assert [row["value"] for row in rows] == ["1", '{"a" : 2}', "[3 ]"]
    assert bad == [b"", b'"\xff"', b""]


_MUST = "id long not null, at timestamp not null, text string"
_TIME = "2026-01-02T03:04:05Z"
_NULLS = [{"at": _TIME}, {"id": None, "at": _TIME}, {"id": 1}, {}, {"id": 2, "at": None, "text": "x"}]
_OTHERS = [{"id": 3, "at": "never"}, {"at": "never"}, {"id": "x", "at": _TIME}]


@pytest.mark.parametrize("chunk", [16, 2**20])
@pytest.mark.parametrize("name", ["json_lines", "json_array"])
@pytest.mark.parametrize("wrong", [_NULLS, _NULLS + _OTHERS], ids=["nulls alone", "all kinds"])
def test_a_column_that_must_not_be_null_makes_its_record_bad(
    name: str, wrong: list[dict[str, Any]], chunk: int
) -> None:
    """`not null` in a schema is checked record by record, as in csv; columns without it take nulls."""
    good = [{"id": i, "at": _TIME} | ({"text": "y"} if i % 2 else {}) for i in range(9)]
    texts = [json.dumps(value) for value in [*good[:4], *wrong, *good[4:]]]
    data = "\n".join(texts) if name == "json_lines" else f"[{','.join(texts)}]"
    rows, bad = decode(data.encode(), record_format(name, schema=_MUST), chunk)

    assert [(row["id"], row["text"]) for row in rows] == [(value["id"], value.get("text")) for value in good]
    assert [json.loads(text) for text in bad] == wrong


@pytest.mark.parametrize("name", ["json_lines", "json_array"])
def test_the_reason_names_the_field_that_is_null(name: str) -> None:
    """The first one in the schema, if there are several."""
    source, fmt = open_source(io.BytesIO(b'{"text":"x"}\n{"id":1}\n'), record_format(name, schema=_MUST))
    (chunk,) = walk_block(source, fmt, 0, source.size)

    assert [bad.reason for bad in fmt.decoder().decode(chunk).bad] == [
        "field 'id' is null, but the schema says not null",
        "field 'at' is null, but the schema says not null",
    ]


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("struct<a: long not null>", ["{}", '{"a": null}']),
        ("list<item: long not null>", ["[null]", "[1, null, 2]"]),
        ("array<struct<a: array<date>, b: list<item: date not null>>>", ['[{"b": []}, {"b": [null]}]']),
        ("struct<s: struct<a: string not null> not null>", ["{}", '{"s": {}}', '{"s": null}']),
        ("array<struct<a: timestamp not null>>", ["[{}]", '[null, {"a": null}]']),
    ],
)
def test_a_null_inside_a_field_that_must_have_none_makes_its_record_bad(kind: str, wrong: list[str]) -> None:
    """`not null` counts at any depth, below a value that is there; the rows can be written as Parquet."""
    good = [None, '{"a": 1, "s": {"a": "x"}}' if kind.startswith("struct") else "[]", None]
    lines = [f'{{"v": {text or "null"}}}' for text in [*good, *wrong, *good]]
    source, fmt = open_source(io.BytesIO("\n".join(lines).encode()), record_format("json_lines", schema=f"v {kind}"))
    (chunk,) = walk_block(source, fmt, 0, source.size)
    decoded = fmt.decoder().decode(chunk)

    assert {bad.index: bad.reason for bad in decoded.bad} == {
        3 + number: "field 'v' holds a null where the schema says not null" for number in range(len(wrong))
    }
    pq.write_table(pa.Table.from_batches([decoded.batch]), file := io.BytesIO())
    assert pq.read_table(file).num_rows == 2 * len(good)


def _read_in_two(data: bytes, split: int) -> None:
    fmt = record_format("json_array")
    state = scan_block(io.BytesIO(data), 0, split, fmt)(fmt.initial_state)
    list(read_records(io.BytesIO(data), 0, split, fmt))
    list(read_records(io.BytesIO(data), split, len(data), fmt, entry_state=state))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-32-be"])
@pytest.mark.parametrize("text", ["[1, 2] \n@3", '[ ["]"], {"a": "é"}]\n@]', "[ ]  @x", "[1]@,"])
def test_text_behind_an_array_is_named_by_its_byte(text: str, encoding: str) -> None:
    """The offset counts the file's bytes, including its byte order mark, whichever block is read."""
    before, _, behind = text.partition("@")
    place = len(f"\ufeff{before}".encode(encoding))
    data = f"\ufeff{before}{behind}".encode(encoding)
    for split in range(1, len(data)):
        with pytest.raises(RecordError, match=rf"text at byte {place} follows the `\]` that closes.*layout='values'"):
            _read_in_two(data, split)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
@pytest.mark.parametrize("text", ["[@}", "[1, 2 @}", '[{"a": "é"}, {"a": "}"}\n@}\n'])
def test_an_array_that_a_brace_closes_is_refused(text: str, encoding: str) -> None:
    """Python's and Arrow's parsers refuse it too; the error names the brace's byte, whichever block is read."""
    place = len(("\ufeff" + text[: text.index("@")]).encode(encoding))
    data = ("\ufeff" + text.replace("@", "")).encode(encoding)
    for split in range(1, len(data)):
        with pytest.raises(RecordError, match=rf"the `}}` at byte {place} closes the array\): correct the `}}` to `]`"):
            _read_in_two(data, split)
