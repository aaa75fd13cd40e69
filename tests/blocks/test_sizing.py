"""Block sizes that are chosen for a file: bounds, steps of the store's block, and enough of them for the readers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import AutoSize, FileVersion, GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import FileRange
from airflow_provider_blockread.blocks.sizing import LARGEST, SMALLEST, STORE_BLOCK, choose_block_size
from airflow_provider_blockread.errors import OptionsError

MIB = 2**20
SIZES = st.integers(0, 2**50)
STORES = st.sampled_from([1, 4096, 10**6, 10**7, 33 * MIB, 32 * MIB, 64 * MIB, 128 * MIB, 10**8, 256 * MIB, 2**30])
READERS = st.integers(1, 5000)


@given(SIZES, STORES, READERS)
def test_a_size_is_in_step_with_the_store_and_in_bounds(size: int, store: int, readers: int) -> None:
    """It divides the store's block or is a multiple of it, of 16 MiB at least and 256 MiB or the store's at most."""
    found = choose_block_size(size, store_block=store, readers=readers).block_size

    assert found % store == 0 or store % found == 0
    assert SMALLEST <= found <= max(LARGEST, store)


@given(SIZES, STORES, READERS)
def test_readers_have_a_block_each_unless_blocks_would_be_too_small(size: int, store: int, readers: int) -> None:
    """And the reason that is given holds."""
    choice = choose_block_size(size, store_block=store, readers=readers)
    block = choice.block_size
    count = -(-size // block)
    facts = {
        "small": count <= 1,
        "shared": count >= readers,
        "largest": count >= 2 * readers and block + store > max(LARGEST, store),
        "smallest": 1 < count < readers,
    }

    assert facts[choice.why]


@given(SIZES, SIZES, STORES, READERS)
def test_a_larger_file_never_has_smaller_blocks(one: int, two: int, store: int, readers: int) -> None:
    """Blocks grow with the file."""
    small, large = (choose_block_size(s, store_block=store, readers=readers) for s in sorted((one, two)))

    assert small.block_size <= large.block_size


@pytest.mark.parametrize(
    ("size", "store", "readers", "expected"),
    [
        (1, 64, 32, (16, "small")),
        (16, 64, 32, (16, "small")),
        (60, 64, 32, (16, "smallest")),
        (512, 64, 32, (16, "shared")),
        (1000, 64, 32, (32, "shared")),
        (2048, 64, 32, (64, "shared")),
        (5000, 64, 32, (128, "shared")),
        (100_000, 64, 32, (256, "largest")),
        (100_000, 128, 8, (256, "largest")),
        (100_000, 512, 8, (512, "largest")),
        (1000, 128, 2, (256, "shared")),
    ],
)
def test_sizes_of_usual_files(size: int, store: int, readers: int, expected: tuple[int, str]) -> None:
    """All in MiB."""
    choice = choose_block_size(size * MIB, store_block=store * MIB, readers=readers)

    assert (choice.block_size // MIB, choice.why) == expected


def test_groups_hold_blocks_of_each_files_own_size() -> None:
    """The store of a small file is not asked, and the blocks of a file tile it."""
    asked: list[str] = []

    def store_block(path: str) -> int:
        asked.append(path)
        return STORE_BLOCK

    auto = AutoSize(readers=4, store_block=store_block)
    limits = GroupLimits(block_size=auto, group_bytes=2**40, max_groups=1)
    sizes = [5, 40 * MIB, 1000 * MIB]
    parts = [
        FileRange(file=n, version=FileVersion(path=str(n), size=s, mtime_ns=0), start=0, end=s)
        for n, s in enumerate(sizes)
    ]
    blocks = [(b.file, (b.end - b.start) // MIB) for b in iter_blocks(parts, limits, total_bytes=sum(sizes))]

    assert blocks == [(0, 0), (1, 16), (1, 16), (1, 8), *[(2, 192)] * 5, (2, 40)]
    assert set(asked) == {"1", "2"}
    assert str(limits) == str(
        GroupLimits(block_size=AutoSize(readers=4, store_block=len), group_bytes=2**40, max_groups=1)
    )


def test_no_readers_are_refused() -> None:
    """Nothing could be packed."""
    with pytest.raises(OptionsError, match="at least 1"):
        GroupLimits(block_size=AutoSize(readers=0, store_block=len), group_bytes=1, max_groups=1)
