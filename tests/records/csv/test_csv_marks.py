"""Csv with marks of any kind, which Arrow's parser and Python's `csv` read differently."""

from __future__ import annotations

import io

import pytest

from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.csv.fields import dialect_of
from airflow_provider_blockread.records.csv.text import rewritten
from airflow_provider_blockread.records.model import Chunk
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.walking import walk_block
from tests.records.csv.csv_reading import decode


def chunk_of(records: list[bytes]) -> Chunk:
    """Return a chunk of records that LF ends."""
    source, fmt = open_source(io.BytesIO(b"".join(record + b"\n" for record in records)), make_format(Csv()))
    return next(iter(walk_block(source, fmt, 0, source.size)))


@pytest.mark.parametrize(
    ("delimiter", "quote", "encoding"),
    [
        (b"\xfe", b"\xff", "binary"),
        ("§", "«", "latin-1"),
        ("§", '"', "utf-16"),
        (b"\xfe", '"', "utf-8"),
        ("\0", "'", "utf-8"),
    ],
)
def test_marks_may_be_any_byte_or_character(delimiter: str | bytes, quote: str | bytes, encoding: str) -> None:
    """Marks that Arrow's parser does not support split fields, and are text inside quotes."""
    option = Csv(delimiter=delimiter, quote=quote, encoding=encoding, schema="id long, s binary, t string")
    codec = "latin-1" if encoding in {"utf-8", "binary"} else encoding
    d, q = (mark if isinstance(mark, str) else mark.decode("latin-1") for mark in (delimiter, quote))
    text = f"1{d}a b{d}\n2{d}{q}x{d}y{q}{q}\n{q}{d}z\n3{d}\x01{d}\n4{d}b\n{d}\n"
    rows, bad, _ = decode(text.encode(codec), option)
    inside = (f"x{d}y{q}\n").encode("latin-1" if isinstance(delimiter, bytes) else "utf-8")

    assert [(row["id"], row["s"], row["t"]) for row in rows] == [
        (1, b"a b", None),
        (2, inside, "z"),
        (3, b"\x01", None),
    ]
    assert len(bad) == 2


def test_a_mark_inside_text_must_be_text_itself() -> None:
    """A delimiter that is not UTF-8 splits fields; inside a quoted text field it makes the record bad."""
    option = Csv(delimiter=b"\xfe", schema="id long, s string")
    rows, bad, _ = decode(b'1\xfea\n2\xfe"b\xfec"\n3\xfe\n', option)

    assert [row["id"] for row in rows] == [1, 3]
    assert set(bad) == {1}


def test_no_byte_need_be_free() -> None:
    """A chunk with all control bytes is split exactly."""
    every = bytes(code for code in range(1, 32) if code not in b"\n\r")
    option = Csv(delimiter=b"\xfe", schema="id long, s binary")
    rows, _, _ = decode(b'1\xfe"' + every + b'\xfe"\n2\xfe\n', option)

    assert [(row["id"], row["s"]) for row in rows] == [(1, every + b"\xfe"), (2, None)]


@pytest.mark.parametrize(
    ("options", "row", "other"),
    [
        ({"delimiter": "x"}, "éx1", b"\xffx1"),
        ({"quote": "x"}, "é,1", b"\xffy,1"),
        ({"escape": "x"}, "éx,,1", b"\xffx,,1"),
    ],
)
def test_a_mark_may_be_any_letter_beside_text_that_is_not_utf8(options: dict[str, str], row: str, other: bytes) -> None:
    """The row is good whether or not the one beside it is bad, for the reason that is true."""
    rows, bad, _ = decode(row.encode() + b"\n" + other + b"\n", Csv(schema="a string, b int", **options))

    assert [found["b"] for found in rows] == [1]
    assert "column 'a' is not UTF-8" in bad[1]


@pytest.mark.parametrize(
    ("options", "row"),
    [
        ({"delimiter": b"\xff", "escape": "\\", "null": "\x01"}, b"\\\xff"),
        ({"quote": b"\xfe", "null": "a\x01"}, b"a\xfe"),
    ],
)
def test_a_mark_in_text_is_no_null(options: dict[str, str | bytes], row: bytes) -> None:
    """Nor does it become one where the parser gets another byte in its place."""
    option = Csv(schema="a binary", **options)  # type: ignore[arg-type]
    alone, beside = (decode(row + b"\n" + more, option)[0][0] for more in (b"", b"b\x01\n"))

    assert alone == beside == {"a": row.removeprefix(b"\\")}


def test_rewritten_rows_are_the_same_rows() -> None:
    """The slow way, which needs no support for marks, gives the same fields."""
    chunk = chunk_of([b'1,"a,""b""",', b'"",x"y,""', b"a"])

    assert rewritten(chunk, dialect_of(Csv()), "").text == b'1,"a,""b""",\n"","x""y",""\na\n'


@pytest.mark.parametrize("null", ["NA", "N,A", 'N"A'])
def test_nulls_are_nulls_in_rewritten_rows(null: str) -> None:
    """A field that equals `null` is null whatever bytes the other rows of the chunk hold."""
    every = bytes(code for code in range(1, 32) if code not in b"\n\r")
    option = Csv(delimiter=b"\xfe", schema="a binary, b binary", null=null)
    row = null.encode() + b"\xfex\n"

    assert decode(row, option)[0] == decode(row + every + b"\xfe\n", option)[0][:1] == [{"a": None, "b": b"x"}]


@pytest.mark.parametrize("other", [b"x", b'"x"\\y'])
@pytest.mark.parametrize("quote", ['"', None])
def test_nulls_do_not_depend_on_the_other_fields(other: bytes, quote: str | None) -> None:
    r"""Nor on an escape in them that parsers read differently. `\N` is null as MySQL and PostgreSQL write it."""
    option = Csv(escape="\\", schema="a string, b string", null="\\N", quote=quote)
    data = b"".join(field + b"," + other + b"\n" for field in (rb"\N", rb"\\N", b"N", rb"\Nx")) + rb"\N,x" + b"\\"

    assert [row["a"] for row in decode(data, option)[0]] == [None, "\\N", "N", "Nx", None]


def test_an_escaped_null_without_an_escape_in_it_is_null() -> None:
    """As parsers compare it, whether the row is rewritten or not."""
    option = Csv(escape="\\", schema="a string, b string", null="NA")

    assert [row["a"] for row in decode(b'NA,x\nN\\A,x\nN\\A,"x"\\y\n', option)[0]] == [None] * 3


@pytest.mark.parametrize("kind", ["long", "string"])
def test_a_null_with_an_escape_is_not_kept_as_a_misfit(kind: str) -> None:
    """Neither of a column nor of a field without one; the text of another field is."""
    option = Csv(escape="\\", delimiter="\t", quote=None, schema=f"a {kind}", null="\\N", rescue=True)
    rows, bad, _ = decode(b"\\N\t\\N\n\\N\tx\n", option)

    assert ([row["_rescued"] for row in rows], bad) == ([None, '{"/_c1":"x"}'], {})


def test_escapes_are_those_of_python() -> None:
    """An escape after a closing quote is text; many of them before a quote are fast."""
    option = Csv(escape="\\", schema="a string, b string")
    rows, _, _ = decode(b'"a"\\,b\\,c\n"\\"",\\\\\n' + b'"' + b"\\" * 2**20 + b'",\\n\n"\\"\\"",\\', option)

    assert [tuple(row.values()) for row in rows[:2]] == [("a\\", "b,c"), ('"', "\\")]
    assert tuple(rows[2].values()) == ("\\" * 2**19, "n")
    assert tuple(rows[3].values()) == ('""', "\n")


@pytest.mark.parametrize("text", [b"\xef", b"\xef\xbb", b"\xef,a\n", b"a,b\n\xff\n\xfe,c,\n1,2\n", b"\xff\n\xff"])
def test_rows_of_another_width_need_not_be_utf8(text: bytes) -> None:
    """Arrow's parser fails on these rows, and on text that begins with part of a byte order mark."""
    rows, bad, records = decode(text, Csv(schema="a binary, b binary"))
    good = [record.split(b",") for record in records if record.count(b",") == 1]

    assert [list(row.values()) for row in rows] == good
    assert all(reason.endswith(", expected 2") for reason in bad.values())


def test_an_empty_field_at_the_end_of_the_file_is_not_quoted() -> None:
    """Nulls do not depend on a newline after them."""
    option = Csv(schema="a string, b string")

    assert decode(b'"",', option)[0] == decode(b'"",\n', option)[0] == [{"a": "", "b": None}]
