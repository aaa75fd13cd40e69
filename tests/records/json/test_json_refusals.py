"""Why Arrow's parser refuses an object, without asking it about each."""

from __future__ import annotations

import io
import json

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_provider_blockread.records import record_format
from airflow_provider_blockread.records.json.parse import JsonParser, reason
from airflow_provider_blockread.records.json.refusals import Refusals
from airflow_provider_blockread.records.model import Decoded
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import walk_block
from tests.examples import examples

SCHEMA = "id long, small byte, level string, value double, ok boolean, at timestamp, tags array<long>, on struct<x:int>"
DECIMALS = f"{SCHEMA}, sum decimal(9,2)"
KNOWN = {schema: Refusals(JsonParser(schema)) for schema in (SCHEMA, DECIMALS)}  # from all examples


class CountingParser(JsonParser):
    """A parser that counts how often it is asked."""

    calls = 0

    def read(self, text: pa.Buffer, count: int, *, knows_all: bool = False) -> pa.Table:
        """Read as Arrow's parser does."""
        self.calls += 1
        return super().read(text, count, knows_all=knows_all)


edits = st.sampled_from(
    ["", '"', '"', "'", ",", ":", "{", "}", "[", "]", "\\", "\\u", "\\ud83d", "\\ude00", "\\x", "\\n", "0", "7", "-",
     ".", "e", "e+", "1.5", "12", "x", "é", "\t", "\n", "\r", "\0", "\x01", " ", "null", "nul", "true", "NaN", "Inf",
     "Infinity", "-Inf", '"id":1,', '"id":', ',"id":1', '"level":"a",', '"on":{"x":1,"x":2},', '"tags":[1,', "}{",
     '}{"id":2', "} {",
     '"q":{"q":1,"q":1},', '"level":"\\ud800",', '"q":["\\udc00"],', '"sum":1.005,', '"id":"x",', "1e400", "9" * 20,
     "//", "/**/"]
)  # fmt: skip


names = st.sampled_from(["id", "small", "level", "value", "ok", "at", "tags", "on", "x", "extra"])
scalars = st.none() | st.booleans() | st.integers(-300, 2**64) | st.floats() | st.text(max_size=8)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3))
dumped = st.builds(lambda value, ascii_only: json.dumps(value, ensure_ascii=ascii_only), st.dictionaries(names, values),
                   st.booleans())  # fmt: skip


@st.composite
def edited(draw: st.DrawFn) -> bytes:
    """Return an object with some mistakes."""
    text = draw(dumped)
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(1, max(len(text) - 1, 1)))
        text = text[:place] + draw(edits) + text[place + draw(st.integers(0, 1)) :]
    return text.encode(errors="replace")


def decode(data: bytes) -> Decoded:
    """Return what a file decodes to."""
    source, fmt = open_source(io.BytesIO(data), record_format("json_lines", schema=SCHEMA))
    (chunk,) = walk_block(source, fmt, 0, len(data))
    return fmt.decoder().decode(chunk)


def refused(schema: str, record: bytes) -> str | None:
    """Return why Arrow's parser refuses a record."""
    try:
        JsonParser(schema).read(pa.py_buffer(record), 1)
    except pa.ArrowInvalid as error:
        return reason(error)
    return None


@pytest.mark.parametrize("schema", KNOWN)
@examples(300)
@given(record=edited())
def test_an_object_is_refused_as_by_arrow(schema: str, record: bytes) -> None:
    """Whatever other objects were refused before; a number that does not fit may remain to be found."""
    assume(record.startswith(b"{") and record.endswith(b"}"))
    found, expected = KNOWN[schema].why(record), refused(schema, record)
    if found == "":
        assert expected is not None
    elif found is not None or expected is None or not ("decimal" in expected or "too big" in expected):
        assert found == expected


@pytest.mark.parametrize("schema", KNOWN)
@pytest.mark.parametrize(
    "line",
    ['{{"id":{0}x}}', "{{'id':{0},'level':'{0}'}}", '{{"id":1,"id":{0}}}', '{{"level":"\\ud800 {0}"}}',
     '{{"id":{0},"q":"\\udc00"}}', '{{"id":"{0}"}}', '{{"id":{0}}}{{"id":{0}}}', '{{"level":"{0}}}',
     '{{"level":"say "{0}""}}', '{{"level":"{0}" "id":1}}', '{{"level":"\t{0}"}}', '{{"on":{{"x":1,"x":{0}}}}}'],
)  # fmt: skip
def test_the_parser_is_asked_seldom_about_objects_that_are_alike(schema: str, line: str) -> None:
    """However many they are, and whatever is in their strings and numbers."""
    parser = CountingParser(schema)
    refusals = Refusals(parser)
    reasons = {refusals.why(line.format(number).encode()) for number in range(10, 200)}

    assert len(reasons) == 1
    assert None not in reasons
    assert parser.calls <= 10


def test_many_bad_records_are_bad_for_their_own_reasons() -> None:
    """Kinds of bad records take turns, and good ones between them keep their order."""
    bad = [b'{"id":x}', b'{"id":1,"id":2}', b'{"id":"x"}', b"{'id':1}", b'{"level":"\\ud800"}', b'{"id":1}{"id":2}']
    lines = [b'{"id":%d}' % i if i % 2 else bad[i // 2 % 6] for i in range(1200)]
    decoded = decode(b"\n".join(lines))
    alone = [decode(line).bad[0].reason for line in bad]

    assert decoded.batch["id"].to_pylist() == list(range(1, 1200, 2))
    assert [record.reason for record in decoded.bad] == [alone[i % 6] for i in range(600)]
