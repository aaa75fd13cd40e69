"""Limits of a window: how many of the first pending files fit, or which part of a file that exceeds them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.ledger.model import FilePart, PendingFile
from airflow_provider_blockread.options import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """How files are cut into blocks."""

    size_of: Callable[[FileVersion], int | None]  # bytes of a file's full block; None if it is one, however large
    splits: bool = True  # whether a later window may continue a file

    def blocks(self, version: FileVersion, start: int, end: int) -> int:
        """Return how many blocks a range of a file makes."""
        size = self.size_of(version)
        return 1 if size is None else -(-end // size) - start // size

    def head(self, item: PendingFile, limits: Limits) -> PendingFile:
        """Return what a window takes of a file if it takes nothing else: the blocks that fit, at least one, or all."""
        size, start = item.version.size, item.part.start if item.part else 0
        block = self.size_of(item.version)
        if block is None or not self.splits:
            return item
        first = start // block
        borders = [size]
        if limits.max_bytes is not None:
            borders.append((start + limits.max_bytes) // block * block)
        if limits.max_blocks is not None:
            borders.append((first + limits.max_blocks) * block)
        end = max(min(borders), (first + 1) * block)
        if end >= size:
            return item
        number = item.part.number if item.part else 1
        return item._replace(part=FilePart(file=item.file, start=start, end=end, number=number, is_last=False))


def within(limits: Limits, cuts: Cuts, found: Iterable[PendingFile]) -> Iterator[PendingFile]:
    """Yield as many of the first files as fit into all limits; if the first file exceeds them, its first part."""
    if limits == Limits():
        yield from found
        return
    files_left, bytes_left, blocks_left = limits.max_files, limits.max_bytes, limits.max_blocks
    for position, item in enumerate(found):
        start, end = (item.part.start, item.part.end) if item.part else (0, item.version.size)
        blocks = cuts.blocks(item.version, start, end)
        left = [
            None if limit is None else limit - used
            for limit, used in ((files_left, 1), (bytes_left, end - start), (blocks_left, blocks))
        ]
        if any(rest is not None and rest < 0 for rest in left):
            if not position:
                yield cuts.head(item, limits)
            return
        files_left, bytes_left, blocks_left = left
        yield item
        if files_left == 0:
            return
