"""What is read: file versions, blocks and block groups.

All offsets and sizes are bytes; all times are nanoseconds since the epoch, UTC. Values that exist by the million are
named tuples, which take half as long to make as frozen dataclasses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class FileVersion(NamedTuple):
    """One content of one path; "exactly once" is per file version."""

    path: str  # canonical URI, e.g. file:///data/a.log or s3://bucket/a.log; never percent-encoded
    size: int  # bytes
    mtime_ns: int  # 0 where the store has no modification time
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockGroup:
    """The blocks that one Spark application reads, in sums."""

    number: int
    files: int
    blocks: int
    bytes: int
    first_path: str
    last_path: str
