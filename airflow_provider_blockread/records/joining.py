"""Small files joined into one buffer, so that hundreds of them are framed and decoded as one chunk.

A format can be joined if its records do not depend on the records before them, and if some bytes end a file's last
record where nothing else does (`file_end`). These bytes are added to a file that lacks them, so each file of the buffer
begins at a record start; that is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from airflow_provider_blockread.records.format import BaseFormat
from airflow_provider_blockread.records.model import Chunk, Mask, Offsets, Walk


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedFiles:
    """The records of several files as one chunk, and what each file adds up to."""

    chunk: Chunk  # its buffer holds the files' data one after the other
    bases: Offsets  # where the data of each file begins in the buffer
    sizes: Offsets  # bytes of the data, without what was added
    firsts: Offsets  # the index of each file's first record, and after them the number of all records
    ended: Mask  # files whose last record was ended by added bytes
    record_bytes: Offsets
    terminator_bytes: Offsets
    skipped_records: Offsets
    skipped_bytes: Offsets

    def __len__(self) -> int:
        return len(self.bases)


def join_files(fmt: BaseFormat, contents: Sequence[bytes]) -> JoinedFiles:
    """Return the records of the first files: of all, or of those before one that ends inside a record.

    Args:
        fmt: a format with a `file_end`.
        contents: the data of each file, without its header.
    """
    end = fmt.file_end or b""
    ended = np.array([bool(content) and not content.endswith(end) for content in contents], np.bool_)
    parts = [content + end if lacks else content for content, lacks in zip(contents, ended.tolist(), strict=True)]
    borders = np.cumsum([0, *map(len, parts)])
    buffer = b"".join(parts)
    walk = fmt.walk_files(buffer, borders)
    every = fmt.reads_empty  # file is a record, of which empty ones end where those before them end
    counts = np.arange(len(borders)) if every else np.searchsorted(walk.nexts, borders, side="right")
    whole = np.append(0, walk.nexts)[counts] == borders
    files = len(contents) if whole.all() else int(whole.argmin()) - 1
    counts, borders = counts[: files + 1], borders[: files + 1]
    return _summed(buffer, walk[: int(counts[-1])], borders, counts, np.where(ended[:files], len(end), 0))


def _summed(buffer: bytes, walk: Walk, borders: Offsets, counts: Offsets, added: Offsets) -> JoinedFiles:
    """Return the files, of which the walk has `counts` records up to each border, and which got `added` bytes."""
    starts, ends, nexts = walk.starts, walk.ends, walk.nexts
    begins = starts if walk.begins is None else walk.begins
    skipped = np.zeros(len(nexts), np.bool_) if walk.skipped is None else walk.skipped
    skipped_bytes = _by_file(np.where(skipped, nexts - starts, 0), counts)
    if skipped.any():
        skipped_bytes -= np.where(skipped[counts[1:] - 1], added, 0)  # the added bytes ended a skipped one
    record_bytes = _by_file(np.where(skipped, 0, ends - begins), counts)
    kept, sizes = ~skipped, np.diff(borders) - added
    return JoinedFiles(
        chunk=Chunk(buffer, 0, starts[kept], begins[kept], ends[kept], nexts[kept], int(borders[-1]), 0, 0),
        bases=borders[:-1],
        sizes=sizes,
        firsts=np.append(0, np.cumsum(_by_file(kept, counts))),
        ended=added > 0,
        record_bytes=record_bytes,
        terminator_bytes=sizes - record_bytes - skipped_bytes,
        skipped_records=_by_file(skipped, counts),
        skipped_bytes=skipped_bytes,
    )


def _by_file(values: Offsets | Mask, counts: Offsets) -> Offsets:
    """Return the sums of the values of each file."""
    sums = np.append(0, np.cumsum(values, dtype=np.int64))
    return np.diff(sums[counts])
