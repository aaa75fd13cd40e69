"""Blocks as columns, which is how they are stored and sent."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import Block, FileVersion, GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import FileRange
from airflow_provider_blockread.blocks.model import from_columns, to_columns
from airflow_provider_blockread.spark.driver import Portion


def make_blocks(sizes: list[int]) -> list[Block]:
    """Return the blocks of files of these sizes, of up to 10 bytes each."""
    versions = [
        FileVersion(f"file:///{number}", size, number, None if number % 2 else "e") for number, size in enumerate(sizes)
    ]
    parts = [FileRange(number, version, 0, version.size) for number, version in enumerate(versions)]
    return list(iter_blocks(parts, GroupLimits(block_size=10, group_bytes=40, max_groups=3), total_bytes=sum(sizes)))


@given(sizes=st.lists(st.integers(0, 45), max_size=12))
def test_columns_are_the_same_blocks(sizes: list[int]) -> None:
    """All blocks come back in order, as blocks, and those of one file share its version, as they did."""
    blocks = make_blocks(sizes)

    found = from_columns(to_columns(blocks))

    assert found == blocks
    assert {type(block) for block in found} <= {Block}
    assert {type(block.version) for block in found} <= {FileVersion}
    assert len({id(block.version) for block in found}) == len({block.file for block in blocks})


@given(sizes=st.lists(st.integers(0, 45), max_size=12), states=st.dictionaries(st.integers(0, 9), st.integers(0, 2)))
def test_a_portion_arrives_as_it_was_sent(sizes: list[int], states: dict[int, int]) -> None:
    """Whatever pickles it."""
    portion = Portion(make_blocks(sizes), states, "file:///progress")

    assert pickle.loads(pickle.dumps(portion)) == portion  # noqa: S301 - our own
