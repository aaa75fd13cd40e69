"""Sizes, groups and parts of files in words."""

from __future__ import annotations

from airflow_provider_blockread.blocks import BlockGroup
from airflow_provider_blockread.blocks.sizing import BlockChoice
from airflow_provider_blockread.ledger.model import PendingFile
from airflow_provider_blockread.options.sizes import format_bytes as format_bytes  # noqa: PLC0414 - found here by the steps

_MIB = 2**20
_REASONS = {
    "small": "holds all of the file",
    "shared": "a share for each reader",
    "smallest": "no block is cut smaller",
    "largest": "no block grows larger",
}


def describe_block_size(choice: BlockChoice) -> str:
    """Return a block size that was chosen for a file, and why: `32 MiB, 1/2 of the store's 64 MiB: for all readers`."""
    block, store = choice.block_size, choice.store_block
    if block % store == 0:
        of = "the store's own" if block == store else f"{block // store} of the store's {_mib(store)}"
    else:
        of = f"1/{store // block} of the store's {_mib(store)}"
    return f"{_mib(block)}, {of}: {_REASONS[choice.why]}"


def _mib(size: int) -> str:
    return f"{size // _MIB:,} MiB" if size % _MIB == 0 else f"{size:,} B"


def describe_group(group: BlockGroup) -> str:
    """Return what a group holds: its number, files, bytes and the names of its first and last file."""
    first, last = (path.rpartition("/")[2] for path in (group.first_path, group.last_path))
    names = first if first == last else f"{first} .. {last}"
    files = "1 file" if group.files == 1 else f"{group.files:,} files"
    return f"group {group.number}: {files}, {format_bytes(group.bytes)}, {names}"


def describe_part(pending: PendingFile) -> str:
    """Return which part of a file a window reads; nothing where it reads all of it."""
    part = pending.part
    if part is None:
        return ""
    rest = "" if part.is_last else "; the next windows go on there"
    return f"part {part.number} of a file, bytes {part.start:,} to {part.end:,} of {pending.version.size:,}{rest}"
