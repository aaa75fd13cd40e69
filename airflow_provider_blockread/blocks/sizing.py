"""Block sizes derived from a file's size and the block size of its store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from airflow_provider_blockread.blocks.model import FileVersion

SMALLEST = 16 * 2**20
"""The smallest block in bytes: with smaller ones, opening a file costs more than an additional reader gains."""

LARGEST = 256 * 2**20
"""The largest block in bytes, unless the store's own are larger: a failure reads a whole block again."""

STORE_BLOCK = 64 * 2**20
"""Bytes of a block in stores without blocks, such as object stores and local disks."""


READERS = 32
"""Blocks into which a large file is cut if the number of readers is not limited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChoice:
    """The block size for a file, in bytes, the block size of its store, and the reason.

    `small`: the file is one block; `shared`: each reader gets a share; `smallest`, `largest`: the size is at its lower
    or upper bound.
    """

    block_size: int
    store_block: int
    why: str


def choose_block_size(size: int, *, store_block: int, readers: int) -> BlockChoice:
    """Return the block size for a file of `size` bytes: a share for each reader, aligned with the store's blocks.

    It is the store's block size, a half, a quarter, ... or a multiple of it, so that few blocks overlap two blocks of
    the store, and between `SMALLEST` and `LARGEST` as far as the store's block size allows. A file of up to `SMALLEST`
    bytes is one block, and a large file has blocks for all readers. The result depends only on the arguments.
    """
    share = max(-(-size // readers), SMALLEST)
    block = store_block
    if share < store_block:
        while block % 2 == 0 and block // 2 >= share:
            block //= 2
    else:
        most = max(LARGEST, store_block)
        block = max(min(share, most) // store_block, -(-SMALLEST // store_block)) * store_block
    return BlockChoice(block_size=block, store_block=store_block, why=_why(size, share, block, readers))


def _why(size: int, share: int, block: int, readers: int) -> str:
    if size <= block:
        return "small"
    if -(-size // block) < readers:
        return "smallest"
    return "largest" if share >= 2 * block else "shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class AutoSize:
    """Chooses the block size of each file.

    `store_block` returns the block size, in bytes, of the store of a path; its results must never change.
    """

    readers: int
    store_block: Callable[[str], int] = field(repr=False, compare=False)

    def choice(self, version: FileVersion) -> BlockChoice:
        """Return a file's block size and the reason; the store of a small file is not asked."""
        known = version.size <= SMALLEST
        return choose_block_size(
            version.size, store_block=STORE_BLOCK if known else self.store_block(version.path), readers=self.readers
        )

    def of(self, version: FileVersion) -> int:
        """Return a file's block size in bytes."""
        return self.choice(version).block_size
