"""The laws of records, one suite for every format: whatever the split, each record once, in order, at its place."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import FORMATS, Case, Records, ShortReads

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.records import read_records, scan_block
from airflow_provider_blockread.records.decode import RawDecoder
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import Chunk, WalkLimits, first_start, walk_block

every_format = pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in FORMATS])
sizes = st.integers(1, 40)


def read_blocks(case: Case, data: bytes, ranges: list[tuple[int, int]], *, most: int, chunk: int) -> Records:
    """Return the records of consecutive blocks, each read on its own with the state that the scans before it give."""
    records, state = [], case.fmt.initial_state
    for start, end in ranges:
        file = ShortReads(data, most)
        records += read_records(file, start, end, case.fmt, entry_state=state, chunk_bytes=chunk)
        state = scan_block(ShortReads(data, most), start, end, case.fmt)(state)
    return records


def walk(case: Case, data: bytes, start: int, end: int, chunk: int) -> tuple[int, int, list[Chunk]]:
    """Return a block's first record start, where its walk ended, and its chunks."""
    source, fmt = open_source(io.BytesIO(data), case.fmt)
    state = scan_block(io.BytesIO(data), 0, start, case.fmt)(case.fmt.initial_state)
    first = first_start(source, fmt, start, state)
    chunks = list(walk_block(source, fmt, first, end, WalkLimits(chunk_bytes=chunk)))
    return first, chunks[-1].next_offset if chunks else first, chunks


def utf8(record: bytes) -> bool:
    """Tell whether bytes are UTF-8, as Python sees it."""
    try:
        record.decode()
    except UnicodeDecodeError:
        return False
    return True


@every_format
@settings(max_examples=40)
@given(draw=st.data(), most=sizes, chunk=sizes)
def test_every_two_way_split_reads_each_record_once(case: Case, draw: st.DataObject, most: int, chunk: int) -> None:
    """Two blocks that meet anywhere give the records of the file, with their offsets, in order."""
    data = draw.draw(case.files(pieces=9))
    expected = case.records(data)
    for split in range(1, len(data)):
        ranges = [(0, split), (split, len(data))]

        assert read_blocks(case, data, ranges, most=most, chunk=chunk) == expected, split


@every_format
@settings(max_examples=30)
@given(draw=st.data(), most=sizes, chunk=sizes)
def test_every_block_size_reads_each_record_once(case: Case, draw: st.DataObject, most: int, chunk: int) -> None:
    """Blocks of any size from one byte up give the records of the file, with their offsets, in order."""
    data = draw.draw(case.files(pieces=9))
    expected = case.records(data)
    for block_size in range(1, len(data) + 2):
        ranges = list(iter_ranges(len(data), block_size))

        assert read_blocks(case, data, ranges, most=most, chunk=chunk) == expected, block_size


@every_format
@settings(max_examples=30)
@given(draw=st.data())
def test_every_buffer_size_reads_the_same(case: Case, draw: st.DataObject) -> None:
    """How much is read at once, and how short reads fall, changes nothing."""
    data = draw.draw(case.files())
    for size in range(1, len(data) + 2):
        whole = [(0, len(data))]

        assert read_blocks(case, data, whole, most=size, chunk=2**20) == case.records(data)
        assert read_blocks(case, data, whole, most=2**20, chunk=size) == case.records(data)


@every_format
@settings(max_examples=30)
@given(draw=st.data(), chunk=sizes)
def test_a_cut_is_the_first_record_start_at_or_after_its_offset(case: Case, draw: st.DataObject, chunk: int) -> None:
    """The cut from the raw offset is the oracle's next record start, and the walk of the block before ends there."""
    data = draw.draw(case.files())
    # A record start is where a record of the framing starts, be it skipped later or not.
    starts = {chunk.offset + int(s) for chunk in walk(case, data, 0, len(data), 2**20)[2] for s in chunk.starts}
    assert {offset for offset, _ in case.records(data)} == starts
    for low, high in pairwise(range(len(data) + 1)):
        first, following, _ = walk(case, data, low, high, chunk)
        cut = walk(case, data, high, len(data), chunk)[0]
        known = [offset for offset, _ in case.records(data) if offset >= high]

        assert following == cut
        assert first <= cut <= min([*known, len(data)])


@every_format
@settings(max_examples=60)
@given(draw=st.data(), chunk=sizes)
def test_every_byte_of_a_block_is_accounted_for(case: Case, draw: st.DataObject, chunk: int) -> None:
    """Bytes of records with their terminators, and skipped bytes, add up to the way from first to next record start."""
    data = draw.draw(case.files())
    low = draw.draw(st.integers(0, len(data)))
    high = draw.draw(st.integers(low, len(data)))
    first, following, chunks = walk(case, data, low, high, chunk)
    kept = sum(int((c.nexts - c.starts).sum()) for c in chunks)

    assert kept + sum(c.skipped_bytes for c in chunks) == following - first


@every_format
@settings(max_examples=60)
@given(draw=st.data(), chunk=sizes)
def test_arrow_gives_the_same_records(case: Case, draw: st.DataObject, chunk: int) -> None:
    """The batches of a block's chunks hold the bytes that reading record by record gives."""
    data = draw.draw(case.files())
    decoder = RawDecoder("binary")
    batches = [decoder.decode(c).batch for c in walk(case, data, 0, len(data), chunk)[2]]

    assert [value for batch in batches for value in batch["value"].to_pylist()] == [r for _, r in case.records(data)]


@every_format
@settings(max_examples=60)
@given(draw=st.data(), chunk=sizes)
def test_text_that_is_not_utf8_is_set_apart(case: Case, draw: st.DataObject, chunk: int) -> None:
    """As text, a record is either in the batch or among the bad ones, by its own bytes alone."""
    data = draw.draw(case.files())
    decoder = RawDecoder("utf-8")
    for part in walk(case, data, 0, len(data), chunk)[2]:
        decoded = decoder.decode(part)
        bad = [record.index for record in decoded.bad]
        records = [part.record(index) for index in range(len(part.ends))]
        good = [record for index, record in enumerate(records) if index not in bad]

        assert [text.encode() for text in decoded.batch["value"].to_pylist()] == good
        assert not any(utf8(records[index]) for index in bad)


@settings(max_examples=60)
@given(draw=st.data(), splits=st.lists(st.integers(0, 40), max_size=4))
def test_scans_of_neighbours_compose(draw: st.DataObject, splits: list[int]) -> None:
    """The map of a file is the composition of the maps of its blocks, wherever it is split, for every state."""
    case = FORMATS[-1]
    data = draw.draw(case.files())
    borders = sorted({0, len(data), *(min(s, len(data)) for s in splits)})
    whole = scan_block(io.BytesIO(data), 0, len(data), case.fmt)
    composed = whole.identity(2)
    for start, end in pairwise(borders):
        composed = composed.then(scan_block(io.BytesIO(data), start, end, case.fmt))

    assert case.fmt.needs_scan
    assert [composed(0), composed(1)] == [whole(0), whole(1)]
