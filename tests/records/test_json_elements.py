"""Elements of a JSON array as rows of a schema or as text, whatever stands beside them."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from airflow_provider_blockread.records import RecordFormat, record_format
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
    """Whatever stands beside it, a bad element is bad, and its neighbours keep their rows."""
    fmt = record_format("json_array", schema="id long, a string")
    among = b'[{"id":1},\n' + element + b', {"id":2},{"id":3}]'

    assert decode(b"[0," + element + b"]", fmt) == ([], [b"0", element])
    assert [row["id"] for row in decode(among, fmt)[0]] == [1, 2, 3]
    assert decode(among, fmt)[1] == [element]


def test_nesting_in_a_field_that_nobody_asks_for_does_no_harm() -> None:
    """Ten thousand brackets are skipped by the parser as by the framing."""
    deep = b'[{"id":1,"q":' + b"[" * 10_000 + b"]" * 10_000 + b'},{"id":NaN},{"id":2}]'
    rows, bad = decode(deep, record_format("json_array", schema="id long"))

    assert [row["id"] for row in rows] == [1, 2]
    assert bad == [b'{"id":NaN}']


def test_without_a_schema_the_text_of_each_element_is_a_row() -> None:
    """Elements of all kinds come out as they are written; one that is not there is bad, as is one that is not UTF-8."""
    rows, bad = decode(b'[1, {"a" : 2},, "\xff", [3 ],]', record_format("json_array"))

    assert [row["value"] for row in rows] == ["1", '{"a" : 2}', "[3 ]"]
    assert bad == [b"", b'"\xff"', b""]
