"""Packing a group's blocks into Spark partitions: consecutive blocks share a stream, small files share a task."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_provider_blockread.blocks import Block

#: Bytes that could be read while a file is opened; it balances tasks of small files.
OPEN_COST = 64 * 2**10
_MAX_PARTITION = 2**30  # bytes; a lost task is read again as a whole
_WAVES = 3  # tasks a core, so that other cores are not idle during a slow one
_WORTH_A_TASK = 256 * 2**20  # bytes, which take some 20 times as long as it takes Spark to start a task


def pack(
    blocks: Iterable[Block], *, cores: int, sure: bool = False, max_readers: int | None = None
) -> list[list[Block]]:
    """Return the blocks in order, cut into runs of about equal cost.

    There are `_WAVES` runs a core. If it is `sure` that no more cores will come (on a cluster, executors may still be
    starting), there is only one a core, unless each is worth a task. There are more if a run would exceed 1 GiB, and
    never more than `max_readers`.
    """
    ordered = list(blocks)
    total = sum(read_cost(block) for block in ordered)
    waves = min(max(total // (cores * _WORTH_A_TASK), 1), _WAVES) if sure else _WAVES
    count = max(cores * waves, -(-total // _MAX_PARTITION))
    count = count if max_readers is None else min(count, max_readers)
    partitions: list[list[Block]] = []
    done, last = 0, -1
    for block in ordered:
        cost = read_cost(block)
        place = (2 * done + cost) * count // (2 * total)  # by the block's middle, so that remainders do not add up
        if place != last:
            partitions.append([])
        partitions[-1].append(block)
        done, last = done + cost, place
    return partitions


def read_cost(block: Block) -> int:
    """Return the bytes of a block, and those that could be read while its file is opened."""
    return block.end - block.start + OPEN_COST
