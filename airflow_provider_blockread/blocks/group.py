"""Packing blocks into groups: contiguous runs in manifest order, so that a proof needs no sort."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from airflow_provider_blockread.blocks.model import Block, FileVersion
from airflow_provider_blockread.blocks.sizing import AutoSize
from airflow_provider_blockread.blocks.split import iter_ranges
from airflow_provider_blockread.errors import OptionsError


class FileRange(NamedTuple):
    """The range of a file version that a window reads: all of it, or a part."""

    file: int  # the ledger's id of the file version
    version: FileVersion
    start: int
    end: int
    whole: bool = False  # True: one block, as for a compressed file, even if it is empty


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupLimits:
    """How blocks are cut and packed."""

    block_size: int | AutoSize  # bytes, or an object that chooses them for each file
    group_bytes: int  # a group takes files until it holds this many bytes
    max_groups: int  # maximum number of groups
    splittable: bool = True  # False: one block per file

    def __post_init__(self) -> None:
        least = self.block_size.readers if isinstance(self.block_size, AutoSize) else self.block_size
        if min(least, self.group_bytes, self.max_groups) < 1:
            msg = f"block_size (or its readers), group_bytes and max_groups must be at least 1, but are {self}"
            raise OptionsError(msg)

    def size_of(self, version: FileVersion) -> int:
        """Return the bytes of a full block of a file."""
        return self.block_size.of(version) if isinstance(self.block_size, AutoSize) else self.block_size

    def target(self, total_bytes: int) -> int:
        """Return the bytes at which a group is full, so that `total_bytes` fit into `max_groups`."""
        return max(self.group_bytes, -(-total_bytes // self.max_groups))


def iter_blocks(parts: Iterable[FileRange], limits: GroupLimits, *, total_bytes: int) -> Iterator[Block]:
    """Yield the blocks of all parts, numbered and assigned to groups, lazily.

    A block opens the next group when the current one is full. A file that fits into one group is not divided: it opens
    the next group instead, so that its scan and its read are two stages of one application.

    Args:
        parts: the ranges to read, in the window's order.
        limits: how blocks are cut and packed.
        total_bytes: the sum over all parts, which determines how full a group gets.
    """
    target = limits.target(total_bytes)
    number, group, filled = 0, 0, 0
    for part in parts:
        file, version, first, last, _ = part
        length = last - first
        if filled and filled + length > target and length <= target and group + 1 < limits.max_groups:
            group, filled = group + 1, 0
        for start, end in _ranges(part, limits):
            if filled >= target and group + 1 < limits.max_groups:
                group, filled = group + 1, 0
            yield Block(number, group, file, version, start, end, first, last)
            number, filled = number + 1, filled + end - start


def _ranges(part: FileRange, limits: GroupLimits) -> Iterable[tuple[int, int]]:
    if part.whole:
        return [(part.start, part.end)]  # even if empty: it may hold a record, or not really be compressed
    size = limits.size_of(part.version) if limits.splittable else max(part.end, 1)
    if not part.start and 0 < part.end <= size:
        return [(0, part.end)]
    return iter_ranges(part.end, size, data_offset=part.start)
