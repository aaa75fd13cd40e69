"""Encodings at the edges: whole files, byte order marks of JSON, marks, and names."""

from __future__ import annotations

import codecs
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.errors import OptionsError, RecordError
from airflow_provider_blockread.options.parsing.encodings import is_framed_as_bytes, normal_encoding
from airflow_provider_blockread.records import ByteSource, read_records, record_format, scan_block
from airflow_provider_blockread.records.reading import bind, open_source
from airflow_provider_blockread.records.walking import WalkLimits, first_start, walk_block
from tests.examples import examples
from tests.records.text.chunks import MARKS, chunks_of


@pytest.mark.parametrize("encoding", ["utf-16-be", "latin-1", "cp037"])
def test_whole_files_and_fixed_records_are_transcoded(encoding: str) -> None:
    """Formats without marks transcode the text to UTF-8."""
    text = "né\n" * 3
    data = text.encode(encoding)
    size = len(data) // 3
    fixed = record_format("fixed", length=size, encoding=encoding)

    assert list(read_records(io.BytesIO(data), 0, len(data), record_format("whole_file", encoding=encoding))) == [
        (0, text.encode())
    ]
    assert list(read_records(io.BytesIO(data), 1, len(data), fixed)) == [
        (size, b"n\xc3\xa9\n"),
        (size * 2, b"n\xc3\xa9\n"),
    ]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_json_is_read_by_its_byte_order_mark(encoding: str) -> None:
    """JSON lines and arrays in UTF-16 and UTF-32 are decoded to typed columns."""
    rows = [{"id": 1, "name": "é😀"}, {"id": 2, "name": 'a"\\\n'}, {"id": 3, "name": "あ"}]
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    files = {"json_lines": lines, "json_array": json.dumps(rows, ensure_ascii=False, indent=1)}
    for name, text in files.items():
        data = MARKS[encoding] + text.encode(encoding)
        fmt = record_format(name, schema="id long, name string")
        decoder = open_source(io.BytesIO(data), fmt)[1].decoder()

        assert [row for part in chunks_of(data, fmt, 64) for row in decoder.decode(part).batch.to_pylist()] == rows


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_an_empty_file_has_no_byte_order_and_no_records(encoding: str) -> None:
    """Marks that exist only in the encoding are valid for the format."""
    fmt = record_format("csv", encoding=encoding, delimiter="\u00a7")

    assert list(read_records(io.BytesIO(b""), 0, 0, fmt)) == []


def test_delimiters_as_bytes_are_units_of_the_file() -> None:
    """Bytes are in the option's encoding, and must be valid in it."""
    data = "a§b§c".encode("utf-16-le")
    named = record_format("delimited", delimiter=b"\xa7\x00", encoding="utf-16-le")
    by_mark = record_format("delimited", delimiter="§".encode())

    assert [r for _, r in read_records(io.BytesIO(data), 0, len(data), named)] == [b"a", b"b", b"c"]
    marked = MARKS["utf-16-le"] + data
    assert [r for _, r in read_records(io.BytesIO(marked), 0, len(marked), by_mark)] == [b"a", b"b", b"c"]
    for delimiter in (b"\xa7", b"\x00\xd8"):
        fmt = record_format("delimited", delimiter=delimiter, encoding="utf-16-le")
        with pytest.raises(OptionsError, match="is not valid utf-16-le; give it as str"):
            bind(ByteSource(io.BytesIO(data)), fmt)


def test_a_search_names_bytes_of_the_file() -> None:
    """Errors count bytes, not code units, where a record is too long."""
    source = ByteSource(io.BytesIO(b"a\x00" * 2**18), max_record_bytes=2**17)
    fmt = bind(source, record_format("lines", encoding="utf-16-le"))
    with pytest.raises(RecordError, match="around byte 4 is longer than max_record_bytes=131072"):
        first_start(source, fmt, 4, 0)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("UTF8", "utf-8"), ("utf_8_sig", "utf-8"), ("UTF-16LE", "utf-16-le"), ("U32", "utf-32"), ("Latin1", "iso8859-1")],
)
def test_encodings_have_one_name(name: str, expected: str) -> None:
    """Aliases and case do not matter."""
    assert normal_encoding("lines", name) == expected


@pytest.mark.parametrize(
    "name",
    [
        *("shift_jis", "gbk", "gb18030", "utf-7", "punycode", "idna", "rot13", "base64", "iso2022_jp", "hz", "euc_jp"),
        *("unicode_escape", "raw_unicode_escape", "charmap", "undefined"),
        *("", "no such one", "a\0b", "é", "../x", "aliases"),
    ],
)
def test_encodings_without_units_are_refused(name: str) -> None:
    """Encodings in which a byte has no fixed meaning, and unknown ones, are refused."""
    with pytest.raises(OptionsError, match="use utf-8, binary, utf-16, utf-32 or a single-byte one"):
        normal_encoding("lines", name)


@pytest.mark.parametrize(
    ("name", "as_bytes"),
    [("cp1252", True), ("koi8-r", True), ("cp037", False), ("mac-arabic", False), ("cp864", False)],
)
def test_only_ascii_based_encodings_are_framed_as_bytes(name: str, as_bytes: bool) -> None:  # noqa: FBT001
    """Where ASCII bytes mean something else, or a mark has two bytes, bytes are narrowed."""
    assert is_framed_as_bytes(name) == as_bytes


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("csv", {"delimiter": "😀", "encoding": "utf-16-le"}),
        ("csv", {"delimiter": b",", "encoding": "utf-16-le"}),
        ("csv", {"delimiter": "§"}),
        ("escaped", {"escape": "ab", "encoding": "latin-1"}),
        ("fixed", {"length": 3, "encoding": "utf-16-le"}),
        ("csv", {"delimiter": "あ", "encoding": "latin-1"}),
    ],
)
def test_marks_that_are_no_single_unit_are_refused(name: str, options: dict[str, object]) -> None:
    """A mark is one byte, or one code unit that is a character."""
    with pytest.raises(OptionsError, match=r"single|multiple|cannot be written"):
        record_format(name, **options)


@examples(20)
@given(before=st.text(st.sampled_from("aé😀あ,\n"), max_size=12))
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-be", "utf-32-le", "cp1252", "cp037"])
def test_an_open_quote_is_named_by_its_byte_in_the_file(encoding: str, before: str) -> None:
    """Offsets in messages count the file's bytes, both in batches and where a search is given up."""
    before = before.encode(encoding, "ignore").decode(encoding)
    text = f"{before}\n1,é"
    data = f'{text},"x{"é" * 300}'.encode(encoding)
    opened = len(f"{text},".encode(encoding))
    fmt = record_format("csv", encoding=encoding, schema="a string, b string, c string")
    decoder = open_source(io.BytesIO(data), fmt)[1].decoder()
    last = chunks_of(data, fmt)[-1]
    longer = data + ("x" * 2**18).encode(encoding)
    source, bound = open_source(io.BytesIO(longer), fmt)
    start = last.offset + int(last.starts[-1])

    assert decoder.decode(last).bad[-1].reason == f"the quote that opened at byte {opened} of the file is not closed"
    with pytest.raises(RecordError, match=rf"starts at byte {start} \(the quote that opened at byte {opened} is not"):
        list(walk_block(source, bound, start, len(longer), WalkLimits(chunk_bytes=64, max_record_bytes=200)))


@examples(10)
@given(before=st.text(st.sampled_from("aé😀,\n"), max_size=8), head=st.booleans())
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
@pytest.mark.parametrize(
    ("named", "encoding", "mark"),
    [
        ("utf-8", "utf-8", codecs.BOM_UTF8),
        ("utf-16", "utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-16-le", "utf-16-le", b""),
        ("utf-32", "utf-32-le", codecs.BOM_UTF32_LE),
        ("utf-8", "utf-16-le", codecs.BOM_UTF16_LE),
    ],
)
def test_an_open_quote_is_named_alike_at_every_block_size(
    named: str, encoding: str, mark: bytes, size: int, before: str, *, head: bool
) -> None:
    """The offset counts from the file's first byte, whatever the byte order mark, header and blocks."""
    text = f"{'a,b' if head else 'é,b'}\r\n{before}\n"
    data = mark + f'{text}é,"x\ny'.encode(encoding)
    opened = len(mark) + len(f"{text}é,".encode(encoding))
    fmt = record_format("csv", encoding=named, schema="a string, b string", header=head)
    reasons, state = [], fmt.initial_state
    for start, end in iter_ranges(len(data), size):
        source, bound = open_source(io.BytesIO(data), fmt)
        for chunk in walk_block(source, bound, first_start(source, bound, start, state), end):
            reasons += [bad.reason for bad in bound.decoder().decode(chunk).bad]
        state = scan_block(io.BytesIO(data), start, end, fmt)(state)

    assert reasons[-1] == f"the quote that opened at byte {opened} of the file is not closed"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be", "cp1252", "cp037"])
def test_typed_columns_are_the_same_in_every_encoding(encoding: str) -> None:
    """Files with header, quoted newlines and non-ASCII marks give the same typed rows and the same bad record."""
    text = "id§§name\r\n1§§éx\n§ü§é\r\n2§§y\r\nz§§w\r\n".replace("§§", "§")
    data = text.encode(encoding)
    options = {"delimiter": "§", "quote": "é", "header": True, "schema": "id long, name string"}
    fmt = record_format("csv", encoding=encoding, **options)
    decoder = open_source(io.BytesIO(data), fmt)[1].decoder()
    decoded = [decoder.decode(part) for part in chunks_of(data, fmt)]

    assert decoded[0].batch.to_pylist() == [{"id": 1, "name": "x\n§ü§"}, {"id": 2, "name": "y"}]
    assert [bad.index for bad in decoded[0].bad] == [2]
