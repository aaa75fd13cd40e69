"""Sizes, groups and parts of files in words."""

from __future__ import annotations

from airflow_provider_blockread.blocks import BlockGroup
from airflow_provider_blockread.ledger.model import PendingFile

_STEP = 1000.0


def format_bytes(size: float) -> str:
    """Return a size for people: `64 B`, `1.5 MB`, `3.2 GB` (decimal units)."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < _STEP:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= _STEP
    return f"{size:.1f} TB"


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
