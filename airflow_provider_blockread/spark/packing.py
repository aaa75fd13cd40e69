"""Packing a group's blocks into Spark partitions: consecutive blocks share a stream, small files share a task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, groupby

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.whole import SMALL_BYTES

_RATE = 200_000_000  # bytes a second of one reader, where no window of the feed was measured
_MAX_PARTITION = 2**30  # bytes; a lost task is read again as a whole
_WAVES = 3  # tasks a core, so that other cores are not idle during a slow one
_WORTH_A_TASK = 256 * 2**20  # bytes, which take some 20 times as long as it takes Spark to start a task
_NEGLIGIBLE = 0.1  # of an average partition: what is less is read with its neighbour

# Microseconds that opening a file takes: one that is read with others, one read alone, one of a remote store.
_OPEN_TOGETHER, _OPEN_ALONE, _OPEN_REMOTE = 25, 250, 3000


def pack(
    blocks: Iterable[Block], *, cores: int, sure: bool = False, max_readers: int | None = None, rate: int = 0
) -> list[list[Block]]:
    """Return the blocks in order, cut into runs of about equal cost; a block that costs more is a run of its own.

    There are `_WAVES` runs a core. If it is `sure` that no more cores will come (on a cluster, executors may still be
    starting), there is only one a core, unless each is worth a task. There are more if a run would exceed 1 GiB, and
    never more than `max_readers`.

    Args:
        blocks: what to read.
        cores: how many runs are read at once.
        sure: whether there will be no more cores.
        max_readers: the most runs; None for any number.
        rate: bytes a second of one reader in earlier windows of the feed; 0 where none was measured.
    """
    ordered = list(blocks)
    costs = [read_cost(block, rate) for block in ordered]
    total = sum(costs)
    waves = min(max(total // (cores * _WORTH_A_TASK), 1), _WAVES) if sure else _WAVES
    count = max(cores * waves, -(-total // _MAX_PARTITION))
    count = count if max_readers is None else min(count, max_readers)
    runs = _cut(costs, count, outliers_alone=True)
    if max_readers is not None and len(runs) > max_readers:
        runs = _cut(costs, count, outliers_alone=False)
    return [[ordered[index] for index in run] for run in runs]


def fill(blocks: Iterable[Block], size: int) -> list[list[Block]]:
    """Return the blocks in order, cut into runs of at most `size` bytes; a block of more is a run of its own."""
    runs: list[list[Block]] = []
    room = -1
    for block in blocks:
        length = block.end - block.start
        if length > room:
            runs.append([])
            room = size
        runs[-1].append(block)
        room -= length
    return runs


def largest_first(partitions: Sequence[list[Block]], rate: int = 0) -> list[list[Block]]:
    """Return partitions with those that cost most at the front; those of about the same cost stay in their order."""
    costs = [sum(read_cost(block, rate) for block in partition) for partition in partitions]
    average = sum(costs) / max(len(costs), 1)
    by_cost = sorted(range(len(costs)), key=lambda index: -round(8 * costs[index] / average))
    return [partitions[index] for index in by_cost]


def read_cost(block: Block, rate: int = 0) -> int:
    """Return the bytes of a block, and those that could be read at this rate while its file is opened; at least 1."""
    return max(block.end - block.start + _open_us(block) * (rate or _RATE) // 1_000_000, 1)


def _open_us(block: Block) -> int:
    if uris.local_path(block.version.path) is None:
        return _OPEN_REMOTE
    return _OPEN_TOGETHER if block.version.size <= SMALL_BYTES else _OPEN_ALONE


def _cut(costs: Sequence[int], count: int, *, outliers_alone: bool) -> list[list[int]]:
    """Return the indices of costs in at most `count` runs of about equal sums, and outliers by themselves in addition.

    A cost belongs to the run in whose equal share of the total its middle is, so that remainders do not add up. A run
    that costs little in comparison with such a share is joined to its neighbour.
    """
    total = sum(costs)
    middles = (2 * end - cost for end, cost in zip(accumulate(costs), costs, strict=True))
    shares = [
        (middle * count // (2 * total), index if outliers_alone and costs[index] * count > total else -1)
        for index, middle in enumerate(middles)
    ]
    joined: list[list[int]] = []
    before = 0
    for _, indices in groupby(range(len(costs)), key=shares.__getitem__):
        run = list(indices)
        cost = sum(costs[index] for index in run)
        if joined and min(cost, before) * count < total * _NEGLIGIBLE:
            joined[-1] += run
            before += cost
        else:
            joined.append(run)
            before = cost
    return joined
