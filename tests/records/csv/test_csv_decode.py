"""Csv to typed columns: fields as Python's `csv` reads them, values independent of their neighbours."""

from __future__ import annotations

import csv
import io
import re

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.csv.fields import Dialect
from tests.examples import examples
from tests.records.csv.csv_oracle import expected_row, python_fields, quoted_fields, written
from tests.records.csv.csv_reading import decode

SCHEMA = "id long, v double, s string, ok boolean, at timestamp, on date, d decimal(5,2)"
KINDS = [column.split(" ")[1] for column in SCHEMA.split(", ")]
NULL = "NA"

numbers = st.integers(-(2**65), 2**65) | st.integers(-999, 999)
times = st.builds(
    lambda day, join, clock, fraction, zone: f"{day}{join}{clock}{fraction}{zone}",
    st.sampled_from(["2024-05-06", "1969-12-31", "2000-02-29", "2023-02-29", "2024-04-31"]),
    st.sampled_from("T "),
    st.sampled_from(["07:08:09", "23:59:59", "24:00:00"]),
    st.sampled_from(["", ".5", ".123456", ".123456789"]),
    st.sampled_from(["", "Z", "+01:00", "-05:30"]),
)
values = st.one_of(
    numbers.map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(str),
    st.decimals(-2000, 2000, places=2).map(str),
    times,
    st.sampled_from(
        ["", "", NULL, "true", "FALSE", "tRue", "oops", "2024-02-30", "2024-05-06", " 7 ", "\t", "é", "a b"]
    ),
    st.sampled_from(["a\0b", "007", "--1", "1.2.3", "1e5", "+5", "x" * 50]),
    st.text("ab,\"'\\\r\n;", max_size=4),
)
fitting = st.tuples(
    numbers.map(str), st.floats(allow_nan=False, allow_infinity=False).map(str), st.text("a\",'\\\n;é", max_size=5),
    st.sampled_from(["true", "false", "1"]), times, st.just("2024-05-06"), st.just("1.25"),
).map(list)  # fmt: skip
table = st.lists(fitting | fitting | st.lists(values, min_size=1, max_size=8) | st.just([""]), max_size=6)
junk = st.lists(st.sampled_from(["a", '"', ",", "\n", "\r", "'", ";", "\\", " ", "1", ",,,,,,"]), max_size=20)
dialects = st.builds(
    lambda delimiter, quote, escape: Csv(delimiter=delimiter, quote=quote, escape=escape, null=NULL, schema=SCHEMA),
    st.sampled_from([",", ";", "\t", "\x01"]),
    st.sampled_from(['"', "'", None]),
    st.sampled_from([None, None, "\\"]),
)


@examples(300)
@given(
    option=dialects,
    rows=table,
    tail=junk,
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    quote_all=st.booleans(),
    chunk=st.sampled_from([16, 100, 2**20]),
)
def test_rows_are_those_of_pythons_csv(
    option: Csv,
    rows: list[list[str]],
    tail: list[str],
    newline: str,
    quote_all: bool,  # noqa: FBT001 - drawn by Hypothesis
    chunk: int,
) -> None:
    """Each record is a row with Python's fields and conversions, or bad, whatever its neighbours are."""
    data = (written(rows, option, newline, quote_all=quote_all) + "".join(tail)).encode()
    got, bad, records = decode(data, option, chunk)
    expected = [expected_row(record.decode(), option, KINDS) for record in records]

    assert set(bad) == {index for index, row in enumerate(expected) if row is None}
    assert [list(row.values()) for row in got] == [row for row in expected if row is not None]


@given(st.text('a",\\\n\r', max_size=12), st.sampled_from([None, "\\"]), st.booleans())
def test_one_row_is_split_as_python_splits_it(text: str, escape: str | None, joined: bool) -> None:  # noqa: FBT001
    """Fields are Python's, and rewritten rows have the same fields."""
    option = Csv(escape=escape, delimiter=",")
    row = re.match(r"[^\r\n]*", text)[0] if escape is None else text.rstrip("\r\n")  # type: ignore[index]
    try:
        fields = python_fields(row, option) or [""]
    except csv.Error:
        return
    if len(list(csv.reader(io.StringIO(row, newline=""), escapechar=escape))) > 1:
        return
    dialect = Dialect(",", '"', escape)
    found = list(dialect.fields(row))
    plain = Dialect(";", "'", None) if joined else dialect

    assert [field.text for field in found] == dialect.texts(row) == fields
    assert [*(field.quoted for field in found), not found[-1].closed] == quoted_fields(row, option)
    again = list(plain.fields(plain.decode(plain.join(dialect.fields(row)))))
    assert [field.text for field in again] == fields
    assert all(
        repeated.quoted for field, repeated in zip(found, again, strict=True) if field.quoted
    )  # else it may be a null
