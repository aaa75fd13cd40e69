"""Elements of JSON arrays and sequences of values: the same at every split, and equal to those of a simple scanner."""

from __future__ import annotations

import io
import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import ShortReads

from airflow_provider_blockread.errors import LookBackError, RecordError
from airflow_provider_blockread.records import RecordFormat, read_records, record_format, scan_block
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.text import pieces
from airflow_provider_blockread.records.walking import first_start
from tests.examples import examples

Records = list[tuple[int, bytes]]
WHITE = b" \t\n\r"
BOM = b"\xef\xbb\xbf"

ARRAY = record_format("json_array", layout="array")
VALUES = record_format("json_array", layout="values")
AUTO = record_format("json_array")


class Scanner:
    """Reads JSON text byte by byte: depth of brackets, and whether a byte is in a string."""

    def __init__(self, data: bytes, place: int) -> None:
        """Start at a place at depth 0 outside strings."""
        self.data, self.place, self.depth, self.inside, self.slashes = data, place, 0, False, 0

    def step(self) -> None:
        """Step over one byte."""
        byte = self.data[self.place : self.place + 1]
        if byte == b'"' and self.slashes % 2 == 0:
            self.inside = not self.inside
        elif not self.inside:
            self.depth += (byte in {b"{", b"["}) - (byte in {b"}", b"]"})
        self.slashes = self.slashes + 1 if byte == b"\\" else 0
        self.place += 1

    def visible(self) -> int:
        """Step over white space and return where it ends."""
        while self.place < len(self.data) and self.data[self.place] in WHITE:
            self.step()
        return self.place


def oracle(data: bytes, layout: str) -> Records | None:
    """Return the records of a file, or None where it must be refused."""
    scanner = Scanner(data, 3 if data.startswith(BOM) else 0)
    begin = scanner.visible()
    first = data[begin : begin + 1]
    if first and (layout == "array" or (layout == "auto" and first == b"[")):
        return elements(data, begin + 1) if first == b"[" else None
    return values(scanner)


def elements(data: bytes, start: int) -> Records | None:
    """Return the texts between the commas of an array, or None where no `]` closes it or more follows."""
    scanner, records = Scanner(data, start), Records()
    begin = scanner.visible()
    if data[begin : begin + 1] == b"]":
        return None if data[begin + 1 :].strip(WHITE) else []
    while scanner.place < len(data):
        scanner.step()
        end = scanner.place - 1
        if scanner.depth < 0:
            records.append((begin, data[begin:end].rstrip(WHITE)))
            return None if data[end:].strip(WHITE) != b"]" else records
        if data[end] == ord(",") and scanner.depth == 0 and not scanner.inside:
            records.append((begin, data[begin:end].rstrip(WHITE)))
            begin = scanner.visible()
    return None


def values(scanner: Scanner) -> Records:
    """Return the values separated by white space at depth 0, and by brackets and strings."""
    data, records, begin = scanner.data, Records(), scanner.place
    borders = []
    while scanner.place < len(data):
        place, was_inside, was_deep = scanner.place, scanner.inside, scanner.depth
        scanner.step()
        if was_deep == 0 and not was_inside and (scanner.inside or scanner.depth == 1 or data[place] in WHITE):
            borders.append(place)
        if scanner.depth == 0 and not scanner.inside and (was_inside or was_deep == 1):
            borders.append(place + 1)
    while begin < len(data):
        end = min((border for border in borders if border > begin), default=len(data))
        records.append((begin, data[begin:end]))
        begin = len(data) - len(data[end:].lstrip(WHITE))
    return records


def read(data: bytes, fmt: RecordFormat, splits: list[int], *, chunk: int = 2**20, most: int = 2**20) -> Records | None:
    """Return the records of consecutive blocks, each read separately; None where a block is refused."""
    records, state = Records(), fmt.initial_state
    borders = [0, *splits, len(data)]
    try:
        for start, end in pairwise(borders):
            file = ShortReads(data, most)
            records += read_records(file, start, end, fmt, entry_state=state, chunk_bytes=chunk)
            state = scan_block(ShortReads(data, most), start, end, fmt)(state)
    except RecordError:
        return None
    return records


characters = st.sampled_from(list('ab{}[],:"\\ \n\t/é€\U0001f600\u2028\x00')) | st.characters(codec="utf-8")
texts = st.text(characters, max_size=8)
scalars = st.none() | st.booleans() | st.integers(-1000, 1000) | st.floats(allow_nan=False) | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)
blanks = st.sampled_from([b"", b"", b" ", b"\n", b"\r\n", b"\t  ", b"\n" + b" " * 40])


@st.composite
def documents(draw: st.DrawFn, layout: str) -> tuple[bytes, list[Any]]:
    """Return a well-formed file and the values in it."""
    found = draw(st.lists(json_values, max_size=5))
    indent, ascii_only = draw(st.sampled_from([None, None, 1, 2])), draw(st.booleans())
    dumped = [json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode() for value in found]
    if layout == "array":
        pieces = [draw(blanks) + text + draw(blanks) for text in dumped]
        body = draw(blanks) + b"[" + (b",".join(pieces) or draw(blanks)) + b"]" + draw(blanks)
    else:
        body = draw(blanks) + b"".join(text + (draw(blanks) or b"\n") for text in dumped)
    return draw(st.sampled_from([b"", b"", BOM])) + body, found


junk = st.lists(
    st.sampled_from(
        [
            b"[",
            b"]",
            b"{",
            b"}",
            b",",
            b'"',
            b"\\",
            b'\\"',
            b"\\\\",
            b" ",
            b"\n",
            b"1",
            b"a",
            b"[1",
            b"2]",
            b'"a"',
            b"{}",
        ]
    ),
    max_size=12,
).map(b"".join)
sizes = st.integers(1, 40)
every_layout = pytest.mark.parametrize(
    ("fmt", "layout"),
    [
        pytest.param(ARRAY, "array", id="array"),
        pytest.param(VALUES, "values", id="values"),
        pytest.param(AUTO, "auto", id="auto"),
    ],
)


@pytest.mark.parametrize("layout", ["array", "values"])
@examples(15)
@given(draw=st.data(), chunk=sizes, most=sizes)
def test_every_split_gives_the_values_of_the_file(layout: str, draw: st.DataObject, chunk: int, most: int) -> None:
    """Two blocks that meet anywhere read the elements that Python's parser reads, at the scanner's offsets."""
    data, found = draw.draw(documents(layout))
    fmt = record_format("json_array", layout=layout)
    expected = oracle(data, layout)
    for split in range(len(data)):
        assert read(data, fmt, [split], chunk=chunk, most=most) == expected, split

    assert expected is not None
    assert [json.loads(text) for _, text in expected] == found


@every_layout
@examples(80)
@given(
    data=junk,
    begin=st.sampled_from([b"", b"[", b" [ ", BOM + b"["]),
    end=st.sampled_from([b"", b"]", b" ] "]),
    chunk=sizes,
)
@example(data=b"1,,2", begin=b"[", end=b"]", chunk=1)
@example(data=b'{"a": 1}, {"a": 2}', begin=b"[", end=b"} ", chunk=1)
@example(data=b",", begin=b"[", end=b"]", chunk=1)
@example(data=b"} { 1 }", begin=b"", end=b"", chunk=3)
def test_malformed_text_is_read_the_same_at_every_split(
    fmt: RecordFormat, layout: str, data: bytes, begin: bytes, end: bytes, chunk: int
) -> None:
    """Whatever the brackets, quotes and commas: the records are the scanner's, or the file is refused, at any split."""
    data = begin + data + end
    expected = oracle(data, layout)
    for split in range(len(data)):
        assert read(data, fmt, [split], chunk=chunk) == expected, split


@every_layout
@examples(30)
@given(data=junk | documents("array").map(lambda pair: pair[0][:60]), size=st.integers(1, 9))
def test_blocks_of_any_size_give_the_records(fmt: RecordFormat, layout: str, data: bytes, size: int) -> None:
    """Many small blocks, each cut by the states that the scans before it give, read what one block reads."""
    assert read(data, fmt, list(range(size, len(data), size)), chunk=size) == oracle(data, layout)


@examples(60)
@given(data=junk, start=st.integers(0, 12), length=st.integers(0, 20))
def test_a_scan_is_right_for_each_entry_state(data: bytes, start: int, length: int) -> None:
    """The map of a range sends each mode to where a scanner ends, and adds the depth that it adds."""
    data = b'1"' + data
    start = min(start + 1, len(data))
    end = min(start + length, len(data))
    found = scan_block(io.BytesIO(data), start, end, VALUES)
    for inside in (False, True):
        scanner = Scanner(data, start)
        scanner.inside = inside
        scanner.slashes = len(data[:start]) - len(data[:start].rstrip(b"\\"))
        while scanner.place < end:
            scanner.step()

        assert found(6 + inside) == 2 * (3 + scanner.depth) + scanner.inside


@pytest.mark.parametrize(
    "data",
    [
        b"[1] 2",
        b"[1][2]",
        b"[1]]",
        b"[1",
        b"[1,",
        b'["a]',
        b"[",
        b" [ ",
        b"[]x",
        b"[1,2]\n[3]",
        b"[{]"[:2],
        b"[}",
        b"[1}",
    ],
)
def test_what_is_not_one_array_is_refused(data: bytes) -> None:
    """An array that is not closed, or is not all that the file holds, fails with advice."""
    with pytest.raises(RecordError, match=r"layout='values'|close the array|correct the `}`"):
        list(read_records(io.BytesIO(data), 0, len(data), ARRAY))


def test_what_does_not_begin_as_an_array_is_refused() -> None:
    """Objects, one a line, are not an array."""
    with pytest.raises(RecordError, match="does not start with"):
        list(read_records(io.BytesIO(b'{"a":1}\n{"a":2}'), 0, 15, ARRAY))


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"[", b"]", b"{", b'"', b"\\", b",", b" ", b'\\"', b"[]", b"1 ", b'"",'])
@pytest.mark.parametrize("fmt", [ARRAY, VALUES])
def test_long_runs_are_looked_at_a_few_times_at_most(fmt: RecordFormat, piece: bytes) -> None:
    """A megabyte of any byte is scanned, cut into and walked: read, or refused, with the same result in two blocks."""
    data = b"[1," + piece * (2**20 // len(piece) + 9) + b"]"
    split = len(data) // 2 + 1

    assert read(data, fmt, [split]) == read(data, fmt, [])


@pytest.mark.parametrize(("byte", "data"), [(b"\\", b'["'), (b" ", b"[1, ")])
def test_a_look_back_that_is_too_long_is_refused(byte: bytes, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many backslashes or blanks before a block say to read the file as one block."""
    monkeypatch.setattr(pieces, "MAX_LOOK_BACK", 2**17)
    data += byte * 2**19 + b'"]'
    source, fmt = open_source(io.BytesIO(data), ARRAY)
    with pytest.raises(LookBackError, match="read this file as one block"):
        first_start(source, fmt, 2**19, 0)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(encoding: str) -> None:
    """An array in UTF-16 or UTF-32 is read in two blocks that meet anywhere."""
    data = '[{"id": 1, "a": "é"},\n {"id": 2}]'.encode(encoding)
    expected = [b'{"id": 1, "a": "\xc3\xa9"}', b'{"id": 2}']
    for split in range(len(data)):
        records = read(data, AUTO, [split])
        assert records is not None
        assert [text for _, text in records] == expected
