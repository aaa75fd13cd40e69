"""Splitting: ranges tile the file, whatever the sizes."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.errors import OptionsError


@given(size=st.integers(0, 2000), block_size=st.integers(1, 300), data_offset=st.integers(0, 500))
def test_ranges_tile_the_file(size: int, block_size: int, data_offset: int) -> None:
    """Ranges follow each other from the data offset to the end, none is empty, and all cuts are multiples."""
    ranges = list(iter_ranges(size, block_size, data_offset=data_offset))

    assert all(0 < end - start <= block_size for start, end in ranges)
    assert all(left[1] == right[0] and left[1] % block_size == 0 for left, right in pairwise(ranges))
    assert (ranges[0][0], ranges[-1][1]) == (data_offset, size) if data_offset < size else not ranges


def test_ranges_are_lazy() -> None:
    """A file of an exabyte in tiny blocks costs nothing until ranges are taken."""
    assert list(islice(iter_ranges(10**18, 4), 2)) == [(0, 4), (4, 8)]


def test_an_empty_file_has_no_range() -> None:
    """There is nothing to read."""
    assert list(iter_ranges(0, 4)) == []


@pytest.mark.parametrize(("size", "block_size", "data_offset"), [(10, 0, 0), (10, -1, 0), (-1, 4, 0), (10, 4, -1)])
def test_arguments_out_of_range_are_refused_at_the_call(size: int, block_size: int, data_offset: int) -> None:
    """The error comes before any range is taken."""
    with pytest.raises(OptionsError, match="must"):
        iter_ranges(size, block_size, data_offset=data_offset)
