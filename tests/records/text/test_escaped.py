"""Escaped delimiters: exact at every split, however long the runs of escapes, with and without unescaping."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import ShortReads

from airflow_provider_blockread.errors import LookBackError, RecordError
from airflow_provider_blockread.records import ByteSource, RecordFormat, read_records, record_format
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.text import pieces
from airflow_provider_blockread.records.walking import WalkLimits, first_start, walk_block
from tests.examples import examples
from tests.records.reading_here import CountingSource

NEWLINES = re.compile(rb"\r\n|\r|\n")
DELIMITERS: list[bytes | None] = [None, b"\n", b"||", b"\n\n", b"abab", b"aabaa", b"\r\n", b"|"]
delimiters = pytest.mark.parametrize("delimiter", DELIMITERS, ids=repr)


def oracle(data: bytes, delimiter: bytes | None) -> list[tuple[int, bytes]]:
    """Return the records: leftmost matches of the delimiter that do not follow an odd number of escapes."""
    records, begin = [], 0
    for match in (NEWLINES if delimiter is None else re.compile(re.escape(delimiter))).finditer(data):
        before = data[: match.start()]
        if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
            records.append((begin, data[begin : match.start()]))
            begin = match.end()
    return [*records, (begin, data[begin:])] if begin < len(data) else records


def plain(record: bytes) -> bytes:
    """Return a record without its escapes, one byte after the other."""
    out, rest = bytearray(), iter(record)
    for byte in rest:
        out.append(next(rest, byte) if byte == 0x5C else byte)
    return bytes(out)


def files(delimiter: bytes | None) -> st.SearchStrategy[bytes]:
    """Return files made mostly of escapes and pieces of the delimiter."""
    end = b"\r\n" if delimiter is None else delimiter
    special = [end, end[:1], end[1:], b"\\", b"\\\\", b"\\" + end, b"\\\\" + end]
    return st.lists(st.sampled_from([*special, b"\n", b"\r", b"a", b"\xc3\xa9"]), max_size=9).map(b"".join)


def make(delimiter: bytes | None, *, unescape: bool = False, encoding: str = "binary") -> RecordFormat:
    """Return the format with a backslash as the escape."""
    return record_format("escaped", delimiter=delimiter, unescape=unescape, encoding=encoding)


@delimiters
@examples(60)
@given(draw=st.data(), most=st.integers(1, 20), chunk=st.integers(1, 20))
def test_every_split_reads_each_record_once(
    delimiter: bytes | None, draw: st.DataObject, most: int, chunk: int
) -> None:
    """Two blocks that meet anywhere give the oracle's records, at their offsets."""
    data, fmt = draw.draw(files(delimiter)), make(delimiter)
    expected = oracle(data, delimiter)
    for split in range(len(data) + 1):
        parts = [
            pair
            for block in ((0, split), (split, len(data)))
            for pair in read_records(ShortReads(data, most), *block, fmt, chunk_bytes=chunk)
        ]

        assert parts == expected, split


@delimiters
@examples(60)
@given(draw=st.data(), chunk=st.integers(1, 20))
def test_escapes_are_taken_out(delimiter: bytes | None, draw: st.DataObject, chunk: int) -> None:
    """Records one by one and as batches are the oracle's, without escapes."""
    data, fmt = draw.draw(files(delimiter)), make(delimiter, unescape=True)
    expected = [plain(record) for _, record in oracle(data, delimiter)]
    chunks = walk_block(*open_source(io.BytesIO(data), fmt), 0, len(data), WalkLimits(chunk_bytes=chunk))
    batches = [value for part in chunks for value in fmt.decoder().decode(part).batch["value"].to_pylist()]

    assert [record for _, record in read_records(io.BytesIO(data), 0, len(data), fmt)] == expected
    assert batches == expected


@given(data=st.lists(st.sampled_from([b"\\", b"\n", b"a", b"\xc3\xa9", b"\xc3", b"\xa9"]), max_size=12).map(b"".join))
@example(data=b"\xc3\\\xa9\n")
def test_text_is_judged_without_its_escapes(data: bytes) -> None:
    """Only a record that is not UTF-8 after unescaping is bad."""
    fmt = make(None, unescape=True, encoding="utf-8")
    contents = [plain(record) for _, record in oracle(data, None)]
    for part in walk_block(*open_source(io.BytesIO(data), fmt), 0, len(data)):
        decoded = fmt.decoder().decode(part)
        bad = [index for index, content in enumerate(contents) if content.decode("utf-8", "replace").count("\ufffd")]

        assert [record.index for record in decoded.bad] == bad
        assert decoded.batch.num_rows == len(contents) - len(bad)


@pytest.mark.parametrize(("escape", "delimiter"), [("^", None), (b"\xff", b"\x00\x00"), ("'", "--"), ("\x1b", "\r\n")])
def test_other_escapes_work(escape: str | bytes, delimiter: str | bytes | None) -> None:
    """The escape is any byte."""
    fmt = record_format("escaped", escape=escape, delimiter=delimiter, unescape=True, encoding="binary")
    mark = escape if isinstance(escape, bytes) else escape.encode()
    end = b"\n" if delimiter is None else delimiter if isinstance(delimiter, bytes) else delimiter.encode()
    data = b"a" + mark + end + b"b" + mark * 2 + end + b"c"

    assert list(read_records(io.BytesIO(data), 0, len(data), fmt)) == [
        (0, b"a" + end + b"b" + mark),
        (len(data) - 1, b"c"),
    ]


@pytest.mark.parametrize("run", [65_536 * 3, 65_536 * 3 + 1])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_run_of_escapes_may_be_longer_than_any_window(run: int, end: bytes) -> None:
    """A cut after a long run counts all of it, odd or even, wherever the cut begins."""
    data = b"first\n" + b"\\" * run + end + b"second" + end
    expected = oracle(data, None)
    for split in (1, 6, 7, 65_536, run // 2, run + 5, run + 6, run + 7, len(data) - 3):
        blocks = [list(read_records(io.BytesIO(data), *b, make(None))) for b in ((0, split), (split, len(data)))]

        assert blocks[0] + blocks[1] == expected, split


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"\\", b"\\\n", b"\\\r\n", b"\\\\\n", b"\n", b"\\\\\\\n"])
def test_runs_are_looked_at_in_proportion_to_their_length(piece: bytes) -> None:
    """Cutting into a run of escapes or escaped newlines and walking it read each byte a few times."""
    data = b"x\n" + piece * (2**22 // len(piece)) + b"\nlast"
    source = CountingSource(io.BytesIO(data))
    cut = first_start(source, make(None), len(data) // 2, 0)
    for _ in walk_block(source, make(None), 0, len(data)):
        pass

    assert cut == next(offset for offset in starts(data) if offset >= len(data) // 2)
    assert source.bytes_read < 8 * len(data)


def starts(data: bytes) -> list[int]:
    """Return where records start, from a pattern: the oracle above would take an hour for long files."""
    found = re.compile(rb"(?:\\(?:\r\n|.)|[^\\\r\n])*+(?:\r\n|\r|\n|$)", re.DOTALL)
    return [match.start() for match in found.finditer(data) if match[0]]


def test_a_run_beyond_the_look_back_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where escapes continue for too long, the error says to read the file as one block."""
    monkeypatch.setattr(pieces, "MAX_LOOK_BACK", 2**17)
    source = ByteSource(io.BytesIO(b"x\n" + b"\\" * 2**19 + b"\nlast"))
    with pytest.raises(LookBackError, match=r"before byte 524290, .* read this file as one block"):
        first_start(source, make(None), 2**18, 0)


def test_a_search_behind_an_escaped_newline_is_bounded() -> None:
    """A file of escaped newlines alone ends a cut at `max_record_bytes`."""
    source = ByteSource(io.BytesIO(b"\\\n" * 2**20), max_record_bytes=2**18)
    with pytest.raises(RecordError, match=r"around byte .* longer than max_record_bytes=262144"):
        first_start(source, make(None), 3, 0)
