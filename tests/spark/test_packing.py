"""Blocks packed into Spark partitions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.spark.packing import pack

_MIB = 2**20


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
