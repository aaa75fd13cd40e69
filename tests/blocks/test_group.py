"""Packing: groups are contiguous runs of blocks, in order, no more of them than allowed."""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import Block, FileVersion, GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import FileRange
from airflow_provider_blockread.errors import OptionsError


@st.composite
def part_lists(draw: st.DrawFn) -> list[FileRange]:
    """Return parts of files, some of them not from their file's first byte."""
    parts = []
    for number, (start, length) in enumerate(
        draw(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 200)), max_size=12))
    ):
        version = FileVersion(path=f"file:///data/{number}", size=start + length + 5, mtime_ns=number)
        whole = draw(st.booleans())
        parts.append(FileRange(file=100 + number, version=version, start=start, end=start + length, whole=whole))
    return parts


limits = st.builds(
    GroupLimits,
    block_size=st.integers(1, 80),
    group_bytes=st.integers(1, 400),
    max_groups=st.integers(1, 6),
    splittable=st.booleans(),
)


def pack(parts: list[FileRange], given_limits: GroupLimits) -> list[Block]:
    """Return all blocks of the parts."""
    return list(iter_blocks(parts, given_limits, total_bytes=sum(p.end - p.start for p in parts)))


@given(parts=part_lists(), limits=limits)
def test_blocks_cover_every_part_in_order(parts: list[FileRange], limits: GroupLimits) -> None:
    """The blocks of a part tile it, carry its file and range, and come in the order of the parts."""
    blocks = pack(parts, limits)
    by_file = [(file, list(run)) for file, run in groupby(blocks, key=lambda b: b.file)]
    assert [file for file, _ in by_file] == [p.file for p in parts if p.whole or p.start < p.end]
    known = {p.file: p for p in parts}
    for file, run in by_file:
        part = known[file]

        assert (run[0].start, run[-1].end) == (part.start, part.end)
        assert all(left.end == right.start for left, right in pairwise(run))
        assert {(b.part_start, b.part_end, b.version) for b in run} == {(part.start, part.end, part.version)}
        split = limits.splittable and not part.whole
        assert all(b.end - b.start <= limits.block_size for b in run) if split else len(run) == 1


@given(parts=part_lists(), limits=limits)
def test_groups_are_contiguous_and_never_too_many(parts: list[FileRange], limits: GroupLimits) -> None:
    """Blocks are numbered from 0; group numbers start at 0, rise by one, and stay below `max_groups`."""
    blocks = pack(parts, limits)
    groups = [block.group for block in blocks]

    assert [block.number for block in blocks] == list(range(len(blocks)))
    assert [group for group, _ in groupby(groups)] == list(range(len(set(groups))))
    assert len(set(groups)) <= limits.max_groups


@given(parts=part_lists(), limits=limits)
def test_a_group_is_filled_but_hardly_overfilled(parts: list[FileRange], limits: GroupLimits) -> None:
    """Each group but the last allowed one stops with the block that fills it, or before a file it has no room for."""
    target = limits.target(sum(p.end - p.start for p in parts))
    for group, run in groupby(pack(parts, limits), key=lambda b: b.group):
        sizes = [block.end - block.start for block in run]

        assert group == limits.max_groups - 1 or sum(sizes[:-1]) < target


@given(parts=part_lists(), limits=limits)
def test_a_file_that_fits_into_a_group_is_not_torn(parts: list[FileRange], limits: GroupLimits) -> None:
    """A file no larger than a full group is in one group, so that it is scanned and read by one application."""
    target = limits.target(sum(p.end - p.start for p in parts))
    for _, run in groupby(pack(parts, limits), key=lambda b: b.file):
        blocks = list(run)
        if sum(b.end - b.start for b in blocks) <= target:
            assert len({b.group for b in blocks}) == 1


def test_a_small_window_is_one_group() -> None:
    """Below the group's target one Spark application does it all."""
    version = FileVersion(path="file:///a", size=1000, mtime_ns=1)
    part = FileRange(file=1, version=version, start=0, end=1000)
    blocks = pack([part] * 3, GroupLimits(block_size=64, group_bytes=2**30, max_groups=10))

    assert {block.group for block in blocks} == {0}


def test_limits_below_one_are_refused() -> None:
    """Nothing could be packed under them."""
    with pytest.raises(OptionsError, match="at least 1"):
        GroupLimits(block_size=0, group_bytes=1, max_groups=1)


def test_a_block_says_where_it_lies() -> None:
    """Errors name the file, the block and its bytes."""
    version = FileVersion(path="s3://bucket/a.log", size=10, mtime_ns=1)
    block = pack(
        [FileRange(file=1, version=version, start=0, end=10)], GroupLimits(block_size=4, group_bytes=99, max_groups=1)
    )[1]

    assert str(block) == "s3://bucket/a.log block 1 bytes [4, 8)"
