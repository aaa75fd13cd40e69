"""Arrow batches equal reading record by record, and for csv and JSON Python's own parsers."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest
from every_format import FORMATS, Case, of_files
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_provider_blockread.options import Csv, FormatOption, JsonArray
from airflow_provider_blockread.records import make_format
from airflow_provider_blockread.records.decode import RawDecoder
from airflow_provider_blockread.records.reading import open_source
from tests.records.oracles import ShortReads
from tests.records.reading_here import walk
from tests.records.reference import UNREADABLE, behind_skipped, rows_of, text_of

every_format = pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in FORMATS])
raw_formats = pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in FORMATS if not isinstance(case.option, Csv)]
)
sizes = st.integers(1, 40)


def utf8(record: bytes) -> bool:
    """Return whether bytes are UTF-8, as Python sees it."""
    try:
        record.decode()
    except UnicodeDecodeError:
        return False
    return True


def decode(option: FormatOption, data: bytes, chunk: int) -> tuple[list[dict[str, Any] | None], list[str]]:
    """Return a file's rows in order, None for each bad record, and the reasons of the bad ones."""
    fmt = make_format(option)
    decoder = open_source(ShortReads(data, 2**20), fmt)[1].decoder()
    rows: list[dict[str, Any] | None] = []
    reasons = []
    for part in walk(fmt, data, 0, len(data), chunk)[2]:
        decoded = decoder.decode(part)
        bad = {record.index for record in decoded.bad}
        good = iter(decoded.batch.to_pylist())
        rows += [None if index in bad else next(good) for index in range(len(part.starts))]
        reasons += [record.reason for record in decoded.bad]
        assert next(good, None) is None
        assert decoded.batch.schema == decoder.schema
    return rows, reasons


@every_format
@of_files(30)
@given(draw=st.data(), chunk=sizes)
def test_arrow_gives_the_same_records(case: Case, draw: st.DataObject, chunk: int) -> None:
    """The batches of a block's chunks have the bytes that the walk found."""
    data, decoder = draw.draw(case.files()), RawDecoder("binary")
    assume(case.records(data) is not None)
    for part in walk(case.fmt, data, 0, len(data), chunk)[2]:
        records = [part.record(index) for index in range(len(part.ends))]

        assert decoder.decode(part).batch["value"].to_pylist() == records


@raw_formats
@of_files(30)
@given(draw=st.data(), chunk=sizes)
def test_a_format_without_columns_gives_its_records(case: Case, draw: st.DataObject, chunk: int) -> None:
    """The column `value` has the records, unescaped and in UTF-8; only a record invalid in its encoding is bad."""
    data = draw.draw(case.files())
    records = case.records(data)
    assume(records is not None)
    rows, _ = decode(case.option, data, chunk)
    values = [None if row is None else row["value"] for row in rows]
    text = case.fmt.encoding != "binary"
    elements = isinstance(case.option, JsonArray)
    good = [
        content != UNREADABLE and (utf8(content) or not text) and (content != b"" or not elements)
        for _, content in records
    ]
    expected = [
        (content.decode() if text else content) if ok else None for (_, content), ok in zip(records, good, strict=True)
    ]

    assert values == expected


def csv_rows(option: Csv, data: bytes, columns: list[str]) -> list[dict[str, Any] | None]:
    """Return what Python's csv reads as text columns, None for rows of another width."""
    text = behind_skipped(option, text_of(data, option.encoding))
    expected: list[dict[str, Any] | None] = []
    for row in rows_of(option, text):
        if row.comment:
            continue
        content = text.content(row.start, row.end)
        values = [text_content(text.encoding, value) for value in row.fields]
        bad = row.opened is not None or "\0" in text.units[row.start : row.end] or content == UNREADABLE
        bad = bad or not utf8(content) or len(values) != len(columns)
        nulls = [not quoted and value == option.null for value, quoted in zip(values, row.quoted, strict=True)]
        cells = [None if null else value for value, null in zip(values, nulls, strict=True)]
        expected.append(None if bad else dict(zip(columns, cells, strict=True)))
    return expected


def text_content(encoding: str, units: str) -> str:
    """Return a field's characters from its code units."""
    if encoding in {"utf-8", "binary"}:
        return units.encode("latin-1").decode(errors="replace")
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


csv_formats = pytest.mark.parametrize(
    "case", [pytest.param(case, id=case.id) for case in FORMATS if isinstance(case.option, Csv)]
)


@csv_formats
@of_files(60)
@given(draw=st.data(), chunk=sizes)
def test_csv_fields_are_those_of_pythons_csv(case: Case, draw: st.DataObject, chunk: int) -> None:
    """Text columns hold the fields that Python's csv gives; unquoted empty ones are null; other rows are bad."""
    option = case.option
    assert isinstance(option, Csv)
    data = draw.draw(case.files(pieces=14))
    if option.header:
        mark = case.before[0]
        head = '"\n' * option.skip_lines + f"a{option.delimiter}b\n"
        data = mark + head.encode(case.encoding) + data.removeprefix(mark)
    option = dataclasses.replace(option, schema="a string, b string")
    assume(case.records(data) is not None)

    assert decode(option, data, chunk)[0] == csv_rows(option, data, ["a", "b"])


@pytest.mark.parametrize("indent", [None, 1])
@of_files(60)
@given(draw=st.data(), chunk=sizes)
def test_json_elements_are_those_of_pythons_json(indent: int | None, draw: st.DataObject, chunk: int) -> None:
    """Typed columns have what Python's json reads, for arrays and sequences of values."""
    texts = st.text(st.sampled_from(' ,[]{}"\\é\n'), max_size=6)
    objects = st.fixed_dictionaries({}, optional={"a": st.none() | st.integers(-99, 99), "b": st.none() | texts})
    values = draw.draw(st.lists(objects, max_size=5))
    separator = draw.draw(st.sampled_from(["", " ", "\n"]))
    whole = json.dumps(values, indent=indent)
    apart = separator.join(json.dumps(value, indent=indent) for value in values)
    expected = [{"a": value.get("a"), "b": value.get("b")} for value in values]
    for text, layout in ((whole, "array"), (whole, "auto"), (apart, "values"), (apart, "auto")):
        option = JsonArray(schema="a long, b string", layout=layout)

        assert decode(option, text.encode(), chunk) == (expected, []), layout
