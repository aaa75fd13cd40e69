"""The laws of records, one suite for every format: at every split, each record once, in order, at its offset."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from every_format import COMPRESSED, FORMATS, Case, of_files, outcome
from hypothesis import assume, given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.records import StateMap, scan_block
from airflow_provider_blockread.records.reading import open_source
from tests.records.reading_here import read_blocks, walk


def _each(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case.id) for case in cases])


every_case = _each([*FORMATS, *COMPRESSED])
every_format = _each(FORMATS)
scanned_formats = _each([case for case in FORMATS if case.scanned])
sizes = st.integers(1, 40)


@every_case
@of_files(20)
@given(draw=st.data(), most=sizes, chunk=sizes)
def test_every_two_way_split_reads_each_record_once(case: Case, draw: st.DataObject, most: int, chunk: int) -> None:
    """Two blocks that meet anywhere give the records of the file, with their offsets, in order."""
    data = draw.draw(case.files(pieces=9))
    expected, fmt = case.records(data), case.fmt
    for split in range(1, len(data), case.step):
        ranges = [(0, split), (split, len(data))]

        assert outcome(lambda r=ranges: read_blocks(fmt, data, r, most=most, chunk=chunk)) == expected, split


@every_case
@of_files(20)
@given(draw=st.data(), most=sizes, chunk=sizes)
def test_every_block_size_reads_each_record_once(case: Case, draw: st.DataObject, most: int, chunk: int) -> None:
    """Blocks of any size from one byte up give the records of the file, with their offsets, in order."""
    data = draw.draw(case.files(pieces=7))
    expected, fmt = case.records(data), case.fmt
    for block_size in _sizes(len(data), case.step):
        ranges = list(iter_ranges(len(data), block_size))

        assert outcome(lambda r=ranges: read_blocks(fmt, data, r, most=most, chunk=chunk)) == expected, block_size


@every_case
@of_files(15)
@given(draw=st.data())
def test_every_buffer_size_reads_the_same(case: Case, draw: st.DataObject) -> None:
    """The size of the buffer, and of short reads, has no effect."""
    data = draw.draw(case.files())
    expected, fmt, whole = case.records(data), case.fmt, [(0, len(data))]
    for size in _sizes(len(data), case.step):
        assert outcome(lambda s=size: read_blocks(fmt, data, whole, most=s)) == expected
        assert outcome(lambda s=size: read_blocks(fmt, data, whole, chunk=s)) == expected


def _sizes(length: int, step: int) -> list[int]:
    """Return every `step`th of all sizes up to a small length and some up to a larger one."""
    return [size for size in range(1, length + 2) if size < 40 or size % 7 == 0 or size > length][::-step]


@every_format
@of_files(20)
@given(draw=st.data(), chunk=sizes)
def test_a_cut_is_the_first_record_start_at_or_after_its_offset(case: Case, draw: st.DataObject, chunk: int) -> None:
    """The cut from the raw offset is the oracle's next record start, and the walk of the block before ends there."""
    data, fmt = draw.draw(case.files()), case.fmt
    expected = case.records(data)
    assume(expected is not None)
    starts = {chunk.offset + int(s) for chunk in walk(fmt, data, 0, len(data))[2] for s in chunk.starts}
    assert {offset for offset, _ in expected} == starts
    for low, high in pairwise(range(len(data) + 1)):
        first, following, _ = walk(fmt, data, low, high, chunk)
        cut = walk(fmt, data, high, len(data), chunk)[0]
        known = [offset for offset, _ in expected if offset >= high]

        assert following == cut
        assert first <= cut <= min([*known, len(data)])


@every_format
@of_files(30)
@given(draw=st.data(), chunk=sizes)
def test_every_byte_of_a_block_is_accounted_for(case: Case, draw: st.DataObject, chunk: int) -> None:
    """Bytes of records with their terminators, and skipped bytes, add up to the distance between record starts."""
    data = draw.draw(case.files())
    assume(case.records(data) is not None)
    low = draw.draw(st.integers(0, len(data)))
    high = draw.draw(st.integers(low, len(data)))
    first, following, chunks = walk(case.fmt, data, low, high, chunk)
    kept = sum(int((c.nexts - c.starts).sum()) for c in chunks)

    assert kept + sum(c.skipped_bytes for c in chunks) == following - first
    assert all(
        (c.starts <= c.begins).all() and (c.begins <= c.ends).all() and (c.ends <= c.nexts).all() for c in chunks
    )


@scanned_formats
@of_files(60)
@given(draw=st.data(), splits=st.lists(st.integers(0, 40), max_size=4))
def test_scans_of_neighbours_compose(case: Case, draw: st.DataObject, splits: list[int]) -> None:
    """The map of a file is the composition of the maps of its blocks, wherever it is split, for every state."""
    data, fmt = draw.draw(case.files()), case.fmt
    assume(case.records(data) is not None)
    borders = sorted({0, len(data), *(min(s, len(data)) for s in splits)})
    whole = scan_block(io.BytesIO(data), 0, len(data), fmt)
    composed = StateMap.identity(len(whole.targets))
    for start, end in pairwise(borders):
        composed = composed.then(scan_block(io.BytesIO(data), start, end, fmt))
    states = range(4 * len(whole.targets) if whole.shifts else len(whole.targets))

    assert [composed(state) for state in states] == [whole(state) for state in states]


@scanned_formats
@of_files(40)
@given(draw=st.data())
def test_a_record_start_is_in_the_initial_state(case: Case, draw: st.DataObject) -> None:
    """The state at an offset is the same from the file's start and from any record start before it."""
    data, fmt = draw.draw(case.files()), case.fmt
    records = case.records(data)
    assume(records)
    source, bound = open_source(io.BytesIO(data), fmt)
    start = draw.draw(st.sampled_from([offset for offset, _ in records]))
    for offset in range(start + 1, len(data) + 1):
        from_file = scan_block(io.BytesIO(data), 0, offset, fmt)(fmt.initial_state)

        assert bound.scan(source, start, offset)(bound.initial_state) == from_file
