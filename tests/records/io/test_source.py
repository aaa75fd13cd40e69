"""Exact reads: short reads are completed, wrong lengths refused, and nothing unneeded is read or kept."""

from __future__ import annotations

import io
import tracemalloc

import pytest
from every_format import FORMATS
from hypothesis import given
from hypothesis import strategies as st
from oracles import CountedReads, ShortReads

from airflow_provider_blockread.errors import FileChangedError, RecordError
from airflow_provider_blockread.records import ByteSource, RecordFormat, record_format
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, first_start, walk_block

MIB = 2**20
ENDLESS = [
    pytest.param(record_format("lines"), id="lines"),
    pytest.param(record_format("delimited", delimiter="||"), id="delimited"),
    pytest.param(record_format("json_lines"), id="json_lines"),
    pytest.param(FORMATS[-1].fmt, id="quoted_lines"),
]


class GreedyReads(io.BytesIO):
    """A file that ignores the requested length."""

    def read(self, size: int | None = -1, /) -> bytes:
        """Return everything."""
        del size
        return super().read()


@given(
    data=st.binary(max_size=50),
    most=st.integers(1, 9),
    ranges=st.lists(st.tuples(st.integers(-3, 60), st.integers(-3, 60))),
)
def test_every_read_returns_exactly_its_range(data: bytes, most: int, ranges: list[tuple[int, int]]) -> None:
    """Whatever was read before and however short the reads are, a read is the slice of the file."""
    source = ByteSource(ShortReads(data, most))
    for start, end in ranges:
        assert source.read(start, end) == data[max(start, 0) : max(end, 0)]


@given(data=st.binary(max_size=300_000), start=st.integers(0, 300_000), overlap=st.integers(0, 5))
def test_windows_show_every_border_whole(data: bytes, start: int, overlap: int) -> None:
    """Windows follow each other without a gap, and each shows the beginning of the next."""
    position = start
    for offset, window in ByteSource(io.BytesIO(data)).windows(start, overlap=overlap):
        assert offset == position
        assert window == data[offset : offset + len(window)]
        position = offset + len(window) - (overlap if offset + len(window) < len(data) else 0)

    assert position >= len(data) or start >= len(data)


def test_a_file_shorter_than_planned_is_refused() -> None:
    """The error names the file, the range and what to do."""
    source = ByteSource(io.BytesIO(b"abc"), size=10, name="s3://bucket/a.log")
    with pytest.raises(FileChangedError, match=r"s3://bucket/a.log is shorter .* \[2, 9\) .* exclude") as caught:
        source.read(2, 9)

    assert "got 1" in str(caught.value)


def test_a_store_that_ignores_ranges_is_refused() -> None:
    """A longer answer is never used for the range."""
    with pytest.raises(FileChangedError, match="ignores ranged reads"):
        ByteSource(GreedyReads(b"abcdef")).read(1, 3)


def test_reading_on_fetches_nothing_twice() -> None:
    """A walk reads each byte of a file once, except for those of a byte order mark."""
    data = b"".join(b"line %d\n" % i for i in range(200_000))
    file, fmt = CountedReads(data), record_format("lines")
    source, fmt = open_source(file, fmt)
    list(walk_block(source, fmt, 0, len(data), WalkLimits(chunk_bytes=MIB)))

    assert file.handed_out <= len(data) + 3


@pytest.mark.parametrize("fmt", ENDLESS)
def test_a_record_without_end_is_refused_in_bounded_reads(fmt: RecordFormat) -> None:
    """A walk over a file without any delimiter stops at `max_record_bytes` and a buffer."""
    file = CountedReads(b"x" * (8 * MIB))
    limits = WalkLimits(chunk_bytes=MIB // 4, max_record_bytes=MIB)
    with pytest.raises(RecordError, match=r"that starts at byte 0 is longer than max_record_bytes=1048576.*raise"):
        list(walk_block(*open_source(file, fmt), 0, 8 * MIB, limits))

    assert file.handed_out <= MIB + MIB // 4 + 3


@pytest.mark.parametrize("fmt", ENDLESS)
def test_a_cut_into_a_record_without_end_is_refused_in_bounded_reads(fmt: RecordFormat) -> None:
    """A cut looks ahead for at most the size limit of a record, and a window."""
    file = CountedReads(b"x" * (8 * MIB))
    source = ByteSource(file, max_record_bytes=MIB)
    with pytest.raises(RecordError, match=r"around byte \d+ is longer than max_record_bytes=1048576"):
        first_start(source, fmt, 1000, 0)

    assert file.handed_out <= 2 * MIB + MIB // 2


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n", b""])
def test_the_longest_record_is_one_of_the_limit(end: bytes, extra: int) -> None:
    """A record of `max_record_bytes` is read whatever ends it; one byte more is refused."""
    limit = 300_000
    data = b"a\n" + b"x" * (limit + extra) + end + b"b" * len(end)
    fmt = record_format("lines")
    chunks = walk_block(
        ByteSource(io.BytesIO(data)), fmt, 0, len(data), WalkLimits(chunk_bytes=7, max_record_bytes=limit)
    )
    if extra:
        with pytest.raises(RecordError, match="starts at byte 2 is longer"):
            list(chunks)
    else:
        assert sum(len(chunk.ends) for chunk in chunks) == (3 if end else 2)


@pytest.mark.parametrize("delimiter", ["||", "||||||||"])
def test_a_cut_finds_the_end_of_the_longest_record(delimiter: str) -> None:
    """A record of the limit is no longer where a cut meets it: right after its start, a window short of its end."""
    limit = 64 * 2**10 - 1
    end = delimiter.encode()
    data = b"a" + end + b"x" * limit + end + b"b"
    fmt = record_format("delimited", delimiter=delimiter)
    start = 1 + len(end)
    for offset in range(start + 1, start + 1 + len(end)):
        source = ByteSource(io.BytesIO(data), max_record_bytes=limit)
        assert first_start(source, fmt, offset, 0) == len(data) - 1


def test_walking_holds_a_chunk_at_a_time() -> None:
    """Memory stays at a few chunks while a file many times as large is walked."""
    fmt = record_format("lines")

    def read(lines: int) -> None:
        data = b"some line of a log\r\n" * lines
        source, bound = open_source(io.BytesIO(data), fmt)
        for chunk in walk_block(source, bound, 0, len(data), WalkLimits(chunk_bytes=MIB // 4)):
            bound.decoder().decode(chunk)

    def peak(lines: int) -> int:
        tracemalloc.start()
        read(lines)
        most = tracemalloc.get_traced_memory()[1] - 20 * lines
        tracemalloc.stop()
        return most

    read(10)  # imports are not part of a walk

    assert peak(2_000_000) < 3 * MIB
