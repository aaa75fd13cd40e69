"""Blocks packed into Spark partitions."""

from __future__ import annotations

import heapq

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.spark.packing import largest_first, pack

_MIB = 2**20
_KIB = 2**10


def make_blocks(sizes: list[int]) -> list[Block]:
    """Return one block a file, of these sizes."""
    return [
        Block(
            number=number,
            group=0,
            file=number,
            version=FileVersion(path=f"file:///{number}", size=size, mtime_ns=0),
            start=0,
            end=size,
            part_start=0,
            part_end=size,
        )
        for number, size in enumerate(sizes)
    ]


@given(
    sizes=st.lists(st.integers(0, 2**31), max_size=60),
    cores=st.integers(1, 9),
    max_readers=st.none() | st.integers(1, 12),
    sure=st.booleans(),
)
def test_partitions_hold_all_blocks_in_order(
    sizes: list[int], cores: int, max_readers: int | None, *, sure: bool
) -> None:
    """Partitions joined are the blocks, none is empty, and there are no more of them than readers."""
    blocks = make_blocks(sizes)

    partitions = pack(blocks, cores=cores, sure=sure, max_readers=max_readers)

    assert [block for partition in partitions for block in partition] == blocks
    assert all(partitions)
    assert max_readers is None or len(partitions) <= max_readers


def test_empty_blocks_of_a_slow_feed_are_packed() -> None:
    """As of empty files that are compressed: at such a rate, no byte is read while one is opened."""
    blocks = make_blocks([0, 0])

    assert [block for run in largest_first(pack(blocks, cores=1, rate=1), 1) for block in run] == blocks


@given(count=st.integers(1, 400), cores=st.integers(1, 9))
def test_equal_blocks_make_even_partitions(count: int, cores: int) -> None:
    """No partition of equal blocks holds more than one block beyond another, so no core is left with a remainder."""
    lengths = {len(partition) for partition in pack(make_blocks([64 * _MIB] * count), cores=cores)}

    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize(("blocks", "tasks"), [(1, 1), (8, 2), (15, 2), (16, 4), (30, 6), (100, 7)])
def test_tasks_are_worth_their_start(blocks: int, tasks: int) -> None:
    """A core of this host gets one task, and further ones only where each of them has 256 MiB to read."""
    assert len(pack(make_blocks([64 * _MIB] * blocks), cores=2, sure=True)) == tasks


def test_many_bytes_make_more_partitions_than_waves() -> None:
    """A partition of a very large group stays near 1 GiB, because a lost task is read again whole."""
    partitions = pack(make_blocks([64 * _MIB] * 1600), cores=2)

    assert max(sum(block.end for block in partition) for partition in partitions) <= 1100 * _MIB


def finished(costs: list[float], cores: int) -> float:
    """Return when the last of some cores is done, if each takes the next partition once it is free."""
    free = [0.0] * cores
    for cost in costs:
        heapq.heapreplace(free, free[0] + cost)
    return max(free)


SMALL = make_blocks([3 * _KIB + number * 7919 % (5 * _KIB) for number in range(50_000)])


@pytest.mark.slow
@settings(max_examples=10)
@given(
    cores=st.sampled_from([1, 2, 4, 8]),
    before=st.integers(0, len(SMALL)),
    block=st.sampled_from([32 * _MIB, 64 * _MIB, 1000 * _MIB]),
    rate=st.sampled_from([50_000_000, 200_000_000, 500_000_000]),
    error=st.sampled_from([0.9, 1.0, 1.1]),
    sure=st.booleans(),
)
def test_a_skewed_window_ends_early(
    cores: int, before: int, block: int, rate: int, error: float, *, sure: bool
) -> None:
    """One file of 1 GB, in blocks or as one, amid 50,000 small ones takes at most 1.2 times as long as ideally split.

    The rate of the feed's earlier windows is off by up to a tenth, and each small file takes 25 us beside its bytes.
    """
    blocks = [*SMALL[:before], *make_blocks([block] * (1000 * _MIB // block)), *SMALL[before:]]
    learnt = int(rate * error)

    partitions = largest_first(pack(blocks, cores=cores, sure=sure, rate=learnt), learnt)

    costs = [[b.end / rate + (25e-6 if b.end < _MIB else 250e-6) for b in run] for run in partitions]
    ideal = max(sum(map(sum, costs)) / cores, *map(max, costs))
    took, packed = finished(list(map(sum, costs)), cores) / ideal, sum(map(len, costs))
    assert took <= 1.2
    assert packed == len(blocks)


def test_what_a_file_costs_follows_the_rate_of_earlier_windows() -> None:
    """To open a file takes a fast reader as long as some bytes more, and a slow one hardly any longer."""
    blocks = make_blocks([10] * 60 + [5000] * 60)

    def cut(rate: int) -> list[int]:
        return [len(run) for run in pack(blocks, cores=2, sure=True, rate=rate)]

    assert (cut(0), cut(1_000_000), cut(10**9)) == ([75, 45], [90, 30], [65, 55])
    few, many = make_blocks([50_000]), make_blocks([1000] * 30)
    assert largest_first([many, few]) == [many, few]
    assert largest_first([many, few], 1_000_000) == [few, many]


def test_the_largest_is_read_first_and_others_in_order() -> None:
    """A large partition begins before smaller ones; those of about the same cost stay in the order of their files."""
    small, large = make_blocks([10 * _MIB] * 4), make_blocks([40 * _MIB])
    partitions = [*[[block] for block in small], large]

    assert largest_first(partitions) == [large, *[[block] for block in small]]
    assert largest_first([]) == []


def test_little_beside_an_outlier_is_read_with_it() -> None:
    """A small file before a large one makes no task, and no output file, of its own."""
    assert [len(partition) for partition in pack(make_blocks([_KIB, 64 * _MIB, 40 * _MIB]), cores=2, sure=True)] == [
        2,
        1,
    ]
