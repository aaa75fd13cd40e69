"""Virtual splitting: integer arithmetic only, no file is opened."""

from __future__ import annotations

from collections.abc import Iterator

from airflow_provider_blockread.errors import OptionsError


def iter_ranges(size: int, block_size: int, *, data_offset: int = 0) -> Iterator[tuple[int, int]]:
    """Yield half-open byte ranges that tile `[data_offset, size)`, cut at multiples of `block_size`.

    The first range runs from `data_offset` to the next multiple. Nothing is yielded for an empty file, and never an
    empty range. The arithmetic is that of Apex Malhar's AbstractFileSplitter, with half-open ends.

    Args:
        size: bytes in the file.
        block_size: bytes in a full block, at least 1.
        data_offset: the first byte that belongs to a record, at least 0.

    Raises:
        OptionsError: when an argument is out of range; raised at once, not while iterating.
    """
    if block_size < 1:
        msg = f"block_size must be at least 1 byte, not {block_size}; 64 MiB suits most sources"
        raise OptionsError(msg)
    if size < 0 or data_offset < 0:
        msg = f"size and data_offset must not be negative, but are {size} and {data_offset}"
        raise OptionsError(msg)
    return _ranges(size, block_size, data_offset)


def _ranges(size: int, block_size: int, data_offset: int) -> Iterator[tuple[int, int]]:
    start = data_offset
    while start < size:
        end = min((start // block_size + 1) * block_size, size)
        yield start, end
        start = end
