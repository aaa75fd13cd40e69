"""The current versions of files, for the proof: on a remote store, many are looked up at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.proof.model import Now
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.at_once import ask_ahead
from airflow_provider_blockread.storage.versions import patient_version_now


def with_versions(stores: Stores, blocks: Iterable[Block], carried: Collection[int]) -> Iterator[tuple[Block, Now]]:
    """Yield each block with a function that returns the current version of its file, or raises an error.

    Args:
        stores: opens the files.
        blocks: the blocks, file after file.
        carried: groups for which no version is needed, unless other groups have read the same file.
    """
    file = None

    def place(block: Block) -> str | None:
        nonlocal file
        is_first, file = block.file != file, block.file
        return block.version.path if is_first and block.group not in carried else None

    return ask_ahead(stores, blocks, lambda block: patient_version_now(stores, block.version), place)
