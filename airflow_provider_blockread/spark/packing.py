"""Packing a group's blocks into Spark partitions: consecutive blocks share a stream, small files share a task."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.whole import SMALL_BYTES

_RATE = 200_000_000  # bytes per second of one reader, if no window of the feed was measured
_MAX_PARTITION = 2**30  # bytes; a lost task is read again as a whole
_WAVES = 3  # tasks per core, so that other cores are not idle during a slow one
_WORTH_A_TASK = 256 * 2**20  # bytes, which take about 20 times as long to read as Spark takes to start a task
_NEGLIGIBLE = 0.1  # of an average partition: smaller runs are read with a neighbour

# Microseconds to open a file: one that is read together with others, one that is read alone, one in a remote store.
_OPEN_TOGETHER, _OPEN_ALONE, _OPEN_REMOTE = 25, 250, 3000


def pack(
    blocks: Iterable[Block], *, cores: int, sure: bool = False, max_readers: int | None = None, rate: int = 0
) -> list[list[Block]]:
    """Return the blocks in order, split into runs of about equal cost; a block that costs more is a separate run.

    There are `_WAVES` runs per core. If it is `sure` that no cores will be added (on a cluster, executors may still be
    starting), there is only one per core, unless more are each worth a task. There are more if a run would exceed
    1 GiB, but never more than `max_readers`. `rate` is that of one reader in earlier windows of the feed, in bytes per
    second, or 0 if none was measured.
    """
    ordered = list(blocks)
    costs = read_costs(ordered, rate)
    total = sum(costs)
    waves = min(max(total // (cores * _WORTH_A_TASK), 1), _WAVES) if sure else _WAVES
    count = max(cores * waves, -(-total // _MAX_PARTITION))
    count = count if max_readers is None else min(count, max_readers)
    runs = _cut(costs, count, outliers_alone=True)
    if max_readers is not None and len(runs) > max_readers:
        runs = _cut(costs, count, outliers_alone=False)
    return [ordered[run.start : run.stop] for run in runs]


def fill(blocks: Iterable[Block], size: int, added: int = 0) -> list[list[Block]]:
    """Return the blocks in order, split into runs of at most `size` bytes, of which `added` are counted for each block.

    A larger block is a separate run.
    """
    runs: list[list[Block]] = []
    room = -1
    for block in blocks:
        length = block.end - block.start + added
        if length > room:
            runs.append([])
            room = size
        runs[-1].append(block)
        room -= length
    return runs


def largest_first(partitions: Sequence[list[Block]], rate: int = 0) -> list[list[Block]]:
    """Return the partitions with the most expensive ones first; those of about equal cost keep their order."""
    costs = [sum(read_costs(partition, rate)) for partition in partitions]
    average = sum(costs) / max(len(costs), 1)
    by_cost = sorted(range(len(costs)), key=lambda index: -round(8 * costs[index] / average))
    return [partitions[index] for index in by_cost]


def read_costs(blocks: Iterable[Block], rate: int = 0) -> list[int]:
    """Return each block's cost in bytes, at least 1: its size, and what could be read while its file is opened."""
    together, alone, remote = (us * (rate or _RATE) // 1_000_000 for us in (_OPEN_TOGETHER, _OPEN_ALONE, _OPEN_REMOTE))
    return [
        max(end - start + (remote if not uris.is_local(path) else together if size <= SMALL_BYTES else alone), 1)
        for _, _, _, (path, size, _, _), start, end, _, _ in blocks
    ]


def _cut(costs: Sequence[int], count: int, *, outliers_alone: bool) -> list[range]:
    """Return the indices of costs in at most `count` runs of about equal sums, and additional runs for outliers.

    The total is divided into equal shares, and a cost belongs to the share in which its middle falls, so that
    remainders do not add up. A run that is small compared with such a share is joined with its neighbour.
    """
    if not costs:
        return []
    sums = [0, *accumulate(costs)]
    total = sums[-1]
    middles = [before + behind for before, behind in pairwise(sums)]  # doubled, to stay whole numbers
    begins = {0, *(bisect_left(middles, -(-2 * total * share // count)) for share in range(1, count))}
    if outliers_alone:
        begins.update(at for index, cost in enumerate(costs) if cost * count > total for at in (index, index + 1))
    joined: list[range] = []
    for begin, end in pairwise(sorted(begins | {len(costs)})):
        last = joined[-1] if joined else None
        if last and min(sums[end] - sums[begin], sums[last.stop] - sums[last.start]) * count < total * _NEGLIGIBLE:
            joined[-1] = range(last.start, end)
        else:
            joined.append(range(begin, end))
    return joined
