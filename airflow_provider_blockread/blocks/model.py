"""What is read: file versions, blocks and block groups.

All offsets and sizes are bytes; all times are nanoseconds since the epoch, UTC. Values that exist by the million are
named tuples, which take half as long to make as frozen dataclasses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

NAMED_BLOCK = re.compile(r" block (\d+) bytes \[\d+, \d+\)")
"""How a text, such as an error, goes on after the path of the block that it names."""


class FileVersion(NamedTuple):
    """One content of one path; "exactly once" is per file version."""

    path: str  # canonical URI, e.g. file:///data/a.log or s3://bucket/a.log; never percent-encoded
    size: int  # bytes
    mtime_ns: int  # 0 if the store has no modification time
    etag: str | None = None  # the store's own version identity; takes precedence over mtime_ns


class Block(NamedTuple):
    """A half-open byte range of a file version; splitting opens no file.

    `number` counts the blocks of a window from 0 in manifest order; `file` is the ledger's id of the file version.
    `[part_start, part_end)` is the range of the file that this window reads: all of it, or one part of a large one.
    """

    number: int
    group: int
    file: int
    version: FileVersion
    start: int
    end: int
    part_start: int
    part_end: int

    def __str__(self) -> str:
        return f"{self.version.path} block {self.number} bytes [{self.start}, {self.end})"


def by_file(blocks: Iterable[Block]) -> Iterator[list[Block]]:
    """Yield the blocks of each file; blocks are in order, so those of a file follow each other."""
    for _, of_file in groupby(blocks, key=attrgetter("file")):
        yield list(of_file)


def to_columns(blocks: Sequence[Block]) -> list[tuple[Any, ...]]:
    """Return blocks as eleven columns: number, group, file, the four of the version, start, end, part_start, part_end.

    In this form they are pickled without a Python call for each block. Without blocks, there are no columns.
    """
    if not blocks:
        return []
    number, group, file, versions, *ranges = zip(*blocks, strict=True)
    return [number, group, file, *zip(*versions, strict=True), *ranges]


def from_columns(columns: Sequence[Iterable[Any]]) -> list[Block]:
    """Return the blocks from the columns of `to_columns`; all blocks of one file share one version object."""
    if not columns:
        return []
    number, group, file, path, size, mtime_ns, etag, *ranges = columns
    files = list(file)
    # The same as `_make`, without a Python call for each block.
    versions = map(partial(tuple.__new__, FileVersion), zip(path, size, mtime_ns, etag, strict=True))
    if len(shared := dict(zip(files, versions, strict=True))) == len(files):
        of_blocks: Iterable[FileVersion] = shared.values()
    else:
        of_blocks = map(shared.__getitem__, files)
    return list(map(partial(tuple.__new__, Block), zip(number, group, files, of_blocks, *ranges, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockGroup:
    """The sums of the blocks that one Spark application reads."""

    number: int
    files: int
    blocks: int
    bytes: int
    first_path: str
    last_path: str
