"""Csv records that are bad, headers, nulls and types: one case at a time."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError, RecordError
from airflow_provider_blockread.options import Csv, build
from airflow_provider_blockread.records.csv.decode import csv_decoder
from tests.records.csv.csv_reading import decode

SCHEMA = "id long, v double, s string, ok boolean, at timestamp, on date, d decimal(5,2)"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("1,2", "2 fields, expected 7"),
        ("1", "1 field, expected 7"),
        ("1,1,a,1,,,,8", "8 fields, expected 7"),
        ("", "a blank line"),
        ("x1,1,a,1,,,", "column 'id' is not of type int64: 'x1'"),
        ("1,1.2.3,a,1,,,", "column 'v' is not of type double: '1.2.3'"),
        ("1,1,a,yes,,,", "column 'ok' is not of type bool: 'yes'"),
        ("1,1,a,1,2023-02-29,,", "column 'at' is not of type timestamp[us, tz=UTC]: '2023-02-29'"),
        ("1,1,a,1,,2024-5-6,", "column 'on' is not of type date32[day]: '2024-5-6'"),
        ("+-1,1,a,1,,,", "column 'id' is not of type int64: '+-1'"),
        ("++1,1,a,1,,,", "column 'id' is not of type int64: '++1'"),
        ("+,1,a,1,,,", "column 'id' is not of type int64: '+'"),
        ("1,1,a,1,,2024-05-06 00:00:01,", "column 'on' is not of type date32[day]: '2024-05-06 00:00:01'"),
        ("1,1,a,1,2024-05-06 +01:00,,", "column 'at' is not of type timestamp[us, tz=UTC]: '2024-05-06 +01:00'"),
        ("1,1,a,1,2024-05-06 07:08Z UTC,,", "column 'at' is not of type timestamp[us, tz=UTC]: '2024-05-06 07:08Z"),
        ("1,1,a,1,,,1.255", "column 'd' is not of type decimal128(5, 2): '1.255'"),
        ("1,1,a,1,,,1000.5", "column 'd' is not of type decimal128(5, 2): '1000.5'"),
        ("9223372036854775808,1,a,1,,,", "column 'id' is not of type int64: '9223372036854775808'"),
        ("z" * 100_000 + ",1,a,1,,,", "column 'id' is not of type int64: 'zzzzzz"),
        ("1,1,\udcff,1,,,", "column 's' is not UTF-8: '\\\\xff'"),
        ("1,\udcff,,1,,,", "column 'v' is not of type double"),
        ("1,1,a\0,1,,,", "holds a NUL byte at byte 5 of the record; if the file is UTF-16, set encoding='utf-16'"),
    ],
)
def test_a_bad_record_is_bad_alone(record: str, reason: str) -> None:
    """Each kind of bad record is reported with its reason; the records around it keep their rows."""
    good = [f"{i},1.5,text,true,2024-05-06 07:08:09,2024-05-06,1.25" for i in range(20)]
    data = "\r\n".join([*good[:10], record, *good[10:], record]).encode("utf-8", "surrogateescape") + b"\n"
    rows, bad, _ = decode(data, Csv(schema=SCHEMA))

    assert [row["id"] for row in rows] == list(range(20))
    assert sorted(bad) == [10, 21]
    assert all(said.startswith(reason) and len(said) < 200 for said in bad.values())


def test_an_open_quote_is_named_by_its_place() -> None:
    """The rest of the file is one bad record; the reason says at which byte the quote opened."""
    data = 'id,s\n1,a\n2,"é"\n3,"never closed\n4,b\n'.encode()
    rows, bad, _ = decode(data, Csv(schema="id long, s string", header=True))

    assert rows == [{"id": 1, "s": "a"}, {"id": 2, "s": "é"}]
    assert bad == {2: f"the quote that opened at byte {data.index(b'never') - 1} of the file is not closed"}


def test_many_bad_records_of_all_kinds_are_found_at_once() -> None:
    """A third of the records are bad in different ways; the others keep their order."""
    makers = ["{0}x,1,a,1,,,", "{0},1,a,1,never {0},,", "{0},1,a", "{0},1,a,1,2023-02-29 00:00:{1:02d},,", ""]
    makers += ["{0},1,\udcff,1,,,", "{0},-{0}-,a,1,,,", "{0},1,a,1,,,{0}.255"]
    lines = [makers[i // 3 % 8].format(i, i % 60) if i % 3 == 0 else f'{i},1,"a,{i}",1,,,' for i in range(3000)]
    rows, bad, _ = decode("\n".join(lines).encode("utf-8", "surrogateescape"), Csv(schema=SCHEMA))

    assert [row["id"] for row in rows] == [i for i in range(3000) if i % 3]
    assert set(bad) == set(range(0, 3000, 3))


def test_nulls_are_unquoted() -> None:
    """Unquoted empty fields and the option's `null` are null; quoted ones are text in text columns."""
    data = b'id,s,b\n,,\nNA,NA,NA\n"","",""\n1,"NA","NA"\n" ",  ,\n'
    rows, bad, _ = decode(data, Csv(schema="id long, s string, b binary", header=True, null="NA"))

    assert [tuple(row.values()) for row in rows] == [
        (None, None, None), (None, None, None), (None, "", b""), (1, "NA", b"NA"), (None, "  ", None),
    ]  # fmt: skip
    assert not bad


def test_a_column_that_must_not_be_null_makes_its_record_bad() -> None:
    """`not null` in a schema is checked, record by record."""
    rows, bad, _ = decode(b"1,a\n,b\n3,\n", Csv(schema="id long not null, s string"))

    assert [row["id"] for row in rows] == [1, 3]
    assert bad == {1: "column 'id' is null, but the schema says not null"}


def test_one_column_takes_blank_lines() -> None:
    """A blank line is a null where there is one column."""
    rows, bad, _ = decode(b'1\n\n\r\n""\n2,2\n3', Csv(schema="id long"))

    assert [row["id"] for row in rows] == [1, None, None, None, 3]
    assert bad == {4: "2 fields, expected 1"}


def test_binary_columns_take_any_bytes() -> None:
    """Invalid text is bad in text columns only."""
    rows, bad, _ = decode(b"\xff,a\nb,\xff\n\xc3\xa9,\xc3\n\xc3,\xa9\n", Csv(schema="b binary, s string"))

    assert rows == [{"b": b"\xff", "s": "a"}]
    assert set(bad) == {1, 2, 3}


def test_a_byte_order_mark_inside_the_file_is_text() -> None:
    """Only the mark at the file's start is skipped, also where a chunk begins with one."""
    line = b"\xef\xbb\xbfa\n"
    rows, _, _ = decode(line * 20, Csv(schema="s string"), 4)

    assert [row["s"] for row in rows] == ["a", *["\ufeffa"] * 19]


def test_comments_between_rows_leave_no_trace() -> None:
    """Quotes in comments have no meaning, and the rows around a comment stay separate."""
    data = b'#"\r1,a\r#,"\r\r2,b\n# x\n\n3,"#c\n#d"\n'
    rows, bad, records = decode(data, Csv(schema="id long, s string", comment="#"))

    assert [tuple(row.values()) for row in rows] == [(1, "a"), (2, "b"), (3, "#c\n#d")]
    assert [records[index] for index in bad] == [b"", b""]


def test_a_header_must_equal_the_schema() -> None:
    """The error names both lists of columns, and the file where it is known."""
    option = Csv(schema="id long, s string", header=True)
    with pytest.raises(RecordError, match=r"x\.csv: the header has columns 'id', 't' where the schema has 'id', 's'"):
        csv_decoder(option, ("id", "t"), "x.csv")
    with pytest.raises(RecordError, match="column 'id' twice"):
        csv_decoder(option, ("id", "id"))
    with pytest.raises(RecordError, match="input: the header has columns 'x', 's' where"):
        decode(b"x,s\n1,a\n", option)


@pytest.mark.parametrize(("encoding", "mark", "unit"), [("utf-8", 0, 1), ("utf-16", 2, 2)])
def test_a_header_that_is_not_closed_is_refused(encoding: str, mark: int, unit: int) -> None:
    """The error says where the header's quote opened."""
    data = '\nid,"s\n1,a\n'.encode(encoding)
    opened = mark + 4 * unit
    where = (
        f"the header at byte {mark + unit} extends to the end of the file .the quote that opened at byte {opened} is"
    )
    with pytest.raises(RecordError, match=where):
        decode(data, Csv(schema="id long, s string", header=True, encoding=encoding))


@pytest.mark.parametrize("encoding", ["utf-8", "binary", "utf-16", "cp1252"])
@pytest.mark.parametrize(
    ("marks", "header", "names"),
    [
        ({}, 'id,"s ""1""\nx"y', ["id", 's "1"\nxy']),
        ({}, "a" * 200_000 + ",é", ["a" * 200_000, "é"]),
        ({"quote": None}, 'id,"s', ["id", '"s']),
        ({"delimiter": ";", "quote": "'", "escape": "\\"}, "'i;d'\\x;s\\;t", ["i;d\\x", "s;t"]),
        ({"delimiter": "\0"}, "a\0", ["a", "_c1"]),
    ],
)
def test_a_header_is_read_as_any_row(marks: dict[str, Any], header: str, names: list[str], encoding: str) -> None:
    """In any encoding and with any marks, and a name may have any length."""
    schema = ", ".join(f"`{name}` string" for name in names)
    written = encoding if encoding != "binary" else "utf-8"
    rows, _, _ = decode(f"{header}\n".encode(written), Csv(schema=schema, header=True, encoding=encoding, **marks))

    assert rows == []


def test_columns_by_name_follow_the_header() -> None:
    """Fields go to the columns of their names; missing ones are null, others are left out."""
    option = Csv(schema="id long, s string, v double", header=True, columns="by_name")
    rows, bad, _ = decode(b"extra,s,,id\n\xff,a,x,1\n,b,,2,\n,c,,x\n", option)

    assert rows == [{"id": 1, "s": "a", "v": None}]
    assert bad == {1: "5 fields, expected 4", 2: "column 'id' is not of type int64: 'x'"}
    with pytest.raises(RecordError, match="the header has columns 'a', '_c1' where"):
        csv_decoder(option, ("a", " "))


def test_names_that_must_be_known() -> None:
    """Fields go by name, and a name that no column has is refused, or kept."""
    option = Csv(schema="id long, s string", header=True, columns="known_names")

    assert decode(b"s,id\na,1\n", option)[0] == decode(b"id,s\n1,a\n", option)[0] == [{"id": 1, "s": "a"}]
    with pytest.raises(RecordError, match="the header has column 'v', which is none of 'id', 's'"):
        csv_decoder(option, ("id", "v"))
    assert decode(b"id,v\n1,2\n", replace(option, rescue=True))[0][0]["_rescued"] == '{"/v":"2"}'


@pytest.mark.parametrize("columns", ["equal", "by_name", "known_names"])
@pytest.mark.parametrize(
    ("header", "schema", "says"),
    [
        (("A", "b"), "a long, b long", "column 'A' where the schema has 'a'; names must be equal, so write A in"),
        (
            ("b", " a "),
            "b long, a long",
            "the schema has 'a'; names must be equal, so write ` a ` in the schema",
        ),
        (("B", "A"), "a long, b long", "column 'A' where the schema has 'a'"),
        (("\ufeffa", "b"), "a long, b long", r"column '\ufeffa' where the schema has 'a'"),
        (("e\u0301", "b"), "\xe9 long, b long", "column 'e\u0301' where the schema has '\xe9'"),
    ],
)
def test_a_name_that_looks_like_a_column_is_refused(
    columns: str, header: tuple[str, ...], schema: str, says: str
) -> None:
    """The error names both, and how to write the schema, rather than that a column is published as null."""
    option = build(Csv, {"schema": schema, "header": True, "columns": columns})
    with pytest.raises(RecordError, match=re.escape(says)):
        csv_decoder(option, header)


def test_names_that_differ_in_case_are_two_columns() -> None:
    """A header's name that is a column of its own is not taken for another one, which is null."""
    option = Csv(schema="a long, A long", header=True, columns="by_name")

    assert decode(b"A\n1\n", option)[0] == [{"a": None, "A": 1}]
    assert decode(b"a,A,b\n1,2,3\n", option)[0] == [{"a": 1, "A": 2}]
    assert decode(b"a,A\n1,2\n", Csv(schema="a long", header=True, columns="by_name"))[0] == [{"a": 1}]


def test_names_that_no_column_has_may_occur_twice() -> None:
    """By name, such fields are left out; those of a column, and those to be kept by name, must be unique."""
    option = Csv(schema="a long", header=True, columns="by_name")

    assert decode(b"x,a,x\n1,2,3\n", option)[0] == [{"a": 2}]
    with pytest.raises(RecordError, match="column 'a' twice"):
        csv_decoder(option, ("a", "x", "a"))
    with pytest.raises(RecordError, match="column 'x' twice"):
        csv_decoder(replace(option, rescue=True), ("a", "x", "x"))


def test_decoders_of_equal_headers_are_shared() -> None:
    """Small files with the same header share one decoder."""
    option = Csv(schema="id long, s string", header=True)

    assert csv_decoder(option, ("id", "s")) is csv_decoder(Csv(schema="id long, s string", header=True), ("id", "s"))


@pytest.mark.parametrize("kind", ["array<long>", "struct<a: int>", "time64[us]", "time32[s]"])
def test_types_that_no_field_can_be_are_refused(kind: str) -> None:
    """The error names the column and the type."""
    with pytest.raises(OptionsError, match=r"csv: column 'x' cannot be of type"):
        csv_decoder(Csv(schema=f"x {kind}"), None)


def test_a_decoder_needs_columns() -> None:
    """Without a schema the columns are unknown, and the error names the remedies."""
    with pytest.raises(OptionsError, match="set schema="):
        csv_decoder(Csv(), None)


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("timestamp_ntz", "2024-05-06T07:08:09.1234567", datetime(2024, 5, 6, 7, 8, 9, 123456)),  # noqa: DTZ001 - local
        ("timestamp[ms]", "2024-05-06 07:08:09.1239", datetime(2024, 5, 6, 7, 8, 9, 123000)),  # noqa: DTZ001 - local
        ("timestamp[s, tz=UTC]", "2024-05-06 07:08:09.9+01", datetime(2024, 5, 6, 6, 8, 9, tzinfo=UTC)),
        ("timestamp", "2024-05-06 07:08:09.1234567 UTC", datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)),
        ("timestamp", "2024-05-06T07:08 +01:00", datetime(2024, 5, 6, 6, 8, tzinfo=UTC)),
        ("date", "2024-05-06 00:00:00", date(2024, 5, 6)),
        ("date", " 2024-05-06T00:00:00.000", date(2024, 5, 6)),
        ("uint8", "255", 255),
        ("uint8", "+255", 255),
        ("long", " +9223372036854775807", 2**63 - 1),
        ("tinyint", "-128", -128),
        ("float", "1e39", float("inf")),
        ("halffloat", "-0.5", -0.5),
        ("large_string", "é", "é"),
        ("decimal(38,2)", "1e2", Decimal("100.00")),
    ],
)
def test_every_type_reads_its_text(kind: str, text: str, value: object) -> None:
    """Arrow's types are read like Spark's, alone and next to a record that is not UTF-8."""
    for broken in ([], [b"?\xff"]):
        rows, bad, _ = decode(b"\n".join([text.encode(), *broken]), Csv(schema=f"x {kind}"))

        assert [row["x"] for row in rows] == [value]
        assert len(bad) == len(broken)


@pytest.mark.parametrize("text", ["0xFF", '"0x1F"', '"0"x1F', " 0X7f", "0\\x1F", "\\0x1F", "0x"])
@pytest.mark.parametrize("kind", ["tinyint", "long", "uint64"])
@pytest.mark.parametrize("first", [b"0x1,12", b"b,12"])  # the former is enough to look at all integers closely
def test_hexadecimal_digits_are_no_integer(first: bytes, kind: str, text: str) -> None:
    """Arrow takes them as the bits of the type, such as -1 for `0xFF` as tinyint; Spark refuses them, as we do."""
    for others in ([], [b"x,1"], [b"1,x"]):
        data = b"\n".join([first, b"a,%s" % text.encode(), b"x0,7", *others])
        rows, bad, _ = decode(data, Csv(schema=f"s string, x {kind}", escape="\\"))

        assert [row["x"] for row in rows if row["s"] != "x"] == [12, 7]
        assert bad[1].startswith("column 'x' is not of type")
