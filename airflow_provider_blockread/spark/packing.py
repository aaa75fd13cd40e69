"""Packing a group's blocks into Spark partitions: consecutive blocks share a stream, small files share a task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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


def largest_first(partitions: Sequence[list[Block]], rate: int = 0) -> list[list[Block]]:
    """Return partitions with those that cost most at the front; those of about the same cost stay in their order."""
    costs = [sum(read_cost(block, rate) for block in partition) for partition in partitions]
    average = sum(costs) / max(len(costs), 1)
    by_cost = sorted(range(len(costs)), key=lambda index: -round(8 * costs[index] / average))
    return [partitions[index] for index in by_cost]


def read_cost(block: Block, rate: int = 0) -> int:
    """Return the bytes of a block, and those that could be read at this rate while its file is opened."""
    return block.end - block.start + _open_us(block) * (rate or _RATE) // 1_000_000


def _open_us(block: Block) -> int:
    if uris.local_path(block.version.path) is None:
        return _OPEN_REMOTE
    return _OPEN_TOGETHER if block.version.size <= SMALL_BYTES else _OPEN_ALONE


def _cut(costs: Sequence[int], count: int, *, outliers_alone: bool) -> list[list[int]]:
    """Return the indices of costs in `count` runs of about equal sums, and each outlier by itself in addition."""
    total = sum(costs)
    alone = [outliers_alone and cost * count > total for cost in costs]
    left_cost = sum(cost for cost, is_alone in zip(costs, alone, strict=True) if not is_alone)
    left_runs = max(count - sum(alone), 1)
    runs: list[list[int]] = [[]]
    spent = 0
    for index, (cost, is_alone) in enumerate(zip(costs, alone, strict=True)):
        # The run ends where its sum is nearest to an equal share of what is left, so that remainders do not add up.
        is_full = bool(runs[-1]) and (2 * spent + cost) * left_runs > 2 * left_cost
        if is_alone or is_full:
            left_runs = max(left_runs - is_full, 1)
            left_cost -= spent
            runs.append([])
            spent = 0
        runs[-1].append(index)
        if is_alone:
            runs.append([])
        else:
            spent += cost
    runs = [run for run in runs if run]
    return _with_negligible_joined(runs, costs, count) if outliers_alone else runs


def _with_negligible_joined(runs: Sequence[list[int]], costs: Sequence[int], count: int) -> list[list[int]]:
    """Return the runs, where one that costs little in comparison with the average is joined to its neighbour."""
    total = sum(costs)
    joined: list[list[int]] = []
    spent: list[int] = []
    for run in runs:
        cost = sum(costs[index] for index in run)
        if joined and min(cost, spent[-1]) * count < total * _NEGLIGIBLE:
            joined[-1] += run
            spent[-1] += cost
        else:
            joined.append(run)
            spent.append(cost)
    return joined
