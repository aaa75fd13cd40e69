"""Small files of one format read together: one chunk, one batch and one set of receipts for hundreds of them.

Only plain files are read together: small files of one block, on the local disk or in a store that compares versions, of
the planned version, uncompressed, in UTF-8 or binary, with the same header as their neighbours, and ending outside a
record. All others, and every file with an error to raise, are left to the reader of single files. The result never
differs from reading the files one by one.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.model import by_file
from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.options import CustomFormat, GenerationOptions
from airflow_provider_blockread.records.format import BaseFormat, RecordFormat, codec_of
from airflow_provider_blockread.records.io.codecs import MAGICS
from airflow_provider_blockread.records.io.foreign import foreign_head, foreign_name
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.joining import join_files
from airflow_provider_blockread.records.model import Decoder
from airflow_provider_blockread.records.reading import bind
from airflow_provider_blockread.records.text.encodings import BYTE_ORDER_MARKS
from airflow_provider_blockread.records.text.format import TextFormat
from airflow_provider_blockread.records.text.pieces import PIECE_BYTES
from airflow_provider_blockread.spark.tasks.joined_read import JoinedRead, Together
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.ranges import RANGE_BYTES
from airflow_provider_blockread.storage.stores import Stores
from airflow_provider_blockread.storage.whole import SMALL_BYTES, may_read_whole, read_whole

_MOST_FILES = 4096  # read together
# Largest file and run for formats that do not search for the ends of records, so that a run need not fit the CPU cache.
_UNSEARCHED_FILE, _UNSEARCHED_RUN = 2**20, 4 * 2**20
_MOST_CUT_SHORT = 8  # files that end inside a record, before the rest of their run is read one by one
_PLAIN = ("utf-8", "binary")  # encodings
_SPECIAL = (*MAGICS.values(), *BYTE_ORDER_MARKS.values())  # compressed, or in another encoding


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bound:
    """A format as it applies to files that begin with a certain header."""

    fmt: BaseFormat
    decoder: Decoder
    header: bytes

    def applies_to(self, content: bytes) -> bool:
        """Return whether it applies to a file: one with this header or, if there is none, without a special head."""
        if self.header:
            return content.startswith(self.header)
        is_special = content.startswith(_SPECIAL) or foreign_head(content) is not None
        return not (is_special and isinstance(self.fmt, TextFormat))


class SmallFiles:
    """Finds the runs of small files among blocks, and reads each together as far as possible."""

    def __init__(self, stores: Stores, options: GenerationOptions, fmt: RecordFormat) -> None:
        self._stores, self._fmt, self._policies, self._bounds = stores, fmt, options.policies, options.bounds
        built_in = not isinstance(options.record_format, CustomFormat)
        joins = built_in and isinstance(fmt, BaseFormat) and fmt.file_end is not None and fmt.encoding in _PLAIN
        searches = isinstance(fmt, BaseFormat) and bool(fmt.file_end)
        self._local_bytes, self._run_bytes = (
            (SMALL_BYTES, PIECE_BYTES) if searches else (_UNSEARCHED_FILE, _UNSEARCHED_RUN)
        )
        self._most_bytes = self._policies.max_record_bytes if joins else -1
        self._bound: _Bound | None = None  # for the last file

    def runs(self, blocks: Iterable[Block], states: Mapping[int, int]) -> Iterator[list[Block]]:
        """Yield the blocks in order, in lists: the blocks of a run of small files, or those of one file."""
        run, room = list[Block](), self._run_bytes
        for of_file in by_file(blocks):
            size = of_file[0].version.size + 1  # an end may be added to its last record
            small = len(of_file) == 1 and self._is_small(of_file[0], states)
            if run and (not small or size > room or len(run) == _MOST_FILES):
                yield run
                run, room = [], self._run_bytes
            if small:
                run.append(of_file[0])
                room -= size
            else:
                yield of_file
        if run:
            yield run

    def _is_small(self, block: Block, states: Mapping[int, int]) -> bool:
        version, start = block.version, self._fmt.initial_state
        return (
            version.size <= min(self._most_bytes, self._local_bytes if uris.is_local(version.path) else RANGE_BYTES)
            and block.start == block.part_start == 0
            and block.end == block.part_end == version.size
            and may_read_whole(version)
            and codec_of(self._fmt, version.path) is None
            and foreign_name(version.path) is None
            and states.get(block.number, start) == start
        )

    def read(self, blocks: Iterable[Block], states: Mapping[int, int]) -> Generator[Together | list[Block]]:
        """Yield, in order, what could be read together, and the blocks of each file that must be read alone."""
        runs = [(run, self._is_worth_it(run, states)) for run in self.runs(blocks, states)]
        versions = [block.version for run, together in runs if together for block in run]
        with closing(read_whole(self._stores, versions, self._bounds)) as contents:
            for run, together in runs:
                if not together:
                    yield run
                    continue
                for read in self._read_run(run, list(islice(contents, len(run)))):
                    yield [read] if isinstance(read, Block) else read

    def _is_worth_it(self, run: Sequence[Block], states: Mapping[int, int]) -> bool:
        """Return whether to read a run together: several files, or one that is fetched while others are processed."""
        return self._is_small(run[0], states) and (len(run) > 1 or not uris.is_local(run[0].version.path))

    def _read_run(self, run: Sequence[Block], contents: Sequence[bytes | None]) -> Iterator[Together | Block]:
        low = cut_short = 0
        while low < len(run) and cut_short < _MOST_CUT_SHORT:
            alike = self._alike(run[low], contents[low:])
            read = self._joined(run[low : low + len(alike)], alike)
            if read is not None:
                yield from self._parts(read)
                low += len(read.blocks)
                cut_short += len(read.blocks) < len(alike)
            elif alike:
                break
            if low < len(run):
                yield run[low]
                low += 1
        yield from run[low:]

    def _alike(self, first: Block, contents: Sequence[bytes | None]) -> list[bytes]:
        """Return the contents of the leading files to which the format applies in the same way as to the first one."""
        alike: list[bytes] = []
        for content in contents:
            if content is None:
                break
            if not alike and (self._bound is None or not self._bound.applies_to(content)):
                self._bound = self._bind(first, content)
            if self._bound is None or not self._bound.applies_to(content):
                break
            alike.append(content)
        return alike

    def _bind(self, block: Block, content: bytes) -> _Bound | None:
        """Return the format for a file, or None if how it applies depends on more than the file's header."""
        limit = self._policies.max_record_bytes
        source = ByteSource(io.BytesIO(content), size=len(content), name=block.version.path, max_record_bytes=limit)
        source.max_columns = self._policies.max_columns
        try:
            fmt = bind(source, self._fmt)
            decoder = fmt.decoder()
        except BlockReadError:
            return None
        header = content[: source.data_offset]
        if not isinstance(fmt, BaseFormat) or fmt.file_end is None or len(header) == len(content):
            return None
        decided = not header or header.endswith(b"\n") or header == BYTE_ORDER_MARKS["utf-8"]
        return _Bound(fmt=fmt, decoder=decoder, header=header) if decided else None

    def _joined(self, blocks: Sequence[Block], contents: Sequence[bytes]) -> JoinedRead | None:
        """Return the records of the leading files that are alike, or None if there are none, or on failure."""
        bound = self._bound
        if bound is None or not blocks:
            return None
        start = len(bound.header)
        try:
            files = join_files(bound.fmt, [content[start:] for content in contents] if start else contents)
            decoded = bound.decoder.decode(files.chunk)
        except BlockReadError:
            return None
        return JoinedRead(blocks=blocks[: len(files)], fmt=bound.fmt, header=bound.header, files=files, decoded=decoded)

    def _parts(self, read: JoinedRead) -> Iterator[Together | Block]:
        """Yield the files in order; if a bad record is an error, its file must be read alone, which raises it."""
        receipts = read.receipts(digest=self._policies.proof == "digest")
        alone = np.unique(read.owners).tolist() if self._policies.on_bad_record == "fail" else []
        for before, file in pairwise([-1, *alone, len(read.blocks)]):
            if file > before + 1:
                yield read.part(before + 1, file, receipts)
            if file < len(read.blocks):
                yield read.blocks[file]
