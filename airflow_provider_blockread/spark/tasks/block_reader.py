"""Reading one block into batches, with a receipt that accounts for each of its bytes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.exchange.model import Receipt
from airflow_provider_blockread.options import Policies
from airflow_provider_blockread.records.digest import digest_records
from airflow_provider_blockread.records.excerpts import excerpt, line_number
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoder, Offsets
from airflow_provider_blockread.records.reading import chunks_of, scan_source
from airflow_provider_blockread.records.text.encodings import EncodedFormat
from airflow_provider_blockread.records.walking import WalkLimits, first_start, join_chunks, naming_place

_BYTES_A_COLUMN = 2**10  # decoded at once, since each column of a batch has a fixed cost
_MOST_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Good records as columns, with each record's byte offset in its file: from a chunk, or from several small files.

    `counts` has the number of rows of each block, in order.
    """

    batch: pa.RecordBatch
    offsets: Offsets
    blocks: Sequence[Block]
    counts: Offsets

    def by_block(self) -> Iterator[Rows]:
        """Yield the rows of each block that has any."""
        ends = np.cumsum(self.counts)
        for block, count, end in zip(self.blocks, self.counts.tolist(), ends.tolist(), strict=True):
            if count:
                yield Rows(
                    batch=self.batch.slice(end - count, count),
                    offsets=self.offsets[end - count : end],
                    blocks=(block,),
                    counts=np.array([count]),
                )


@dataclass(slots=True)
class _Tally:
    """What was read of a block so far, as in its receipt; `last_record` is the start of the last record."""

    first_start: int
    next_start: int
    last_record: int
    records: int = 0
    record_bytes: int = 0
    terminator_bytes: int = 0
    skipped_records: int = 0
    skipped_bytes: int = 0
    bad_records: int = 0
    rows: int = 0
    digest: int = 0

    def receipt(self, block: Block, data_offset: int, states: tuple[int, int]) -> Receipt:
        """Return the receipt of a block with this entry state and exit state."""
        read = asdict(self)
        del read["last_record"]
        return Receipt(
            block=block.number,
            file=block.file,
            start=block.start,
            end=block.end,
            data_offset=data_offset,
            entry_state=states[0],
            exit_state=states[1],
            rows_out=0,
            **read | {"digest": self.digest % 2**64},
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    """An open planned file: its bytes, and the format and decoder as they apply to it."""

    source: ByteSource
    fmt: RecordFormat
    decoder: Decoder


@dataclass(frozen=True, kw_only=True)
class BlockReader:
    """Reads blocks; `handle_bad` is called with each bad record and may raise."""

    policies: Policies
    handle_bad: Callable[[Block, Chunk, BadRecord], None]

    def read(self, file: OpenFile, block: Block, entry_state: int, emit: Callable[[Rows], int]) -> Receipt:
        """Read the block to its end and return its receipt; `emit` takes rows and returns the number of output rows."""
        rows, rows_out = self.rows(file, block, entry_state), 0
        while True:
            try:
                rows_out += emit(next(rows))
            except StopIteration as end:
                receipt: Receipt = end.value
                return receipt._replace(rows_out=rows_out)

    def rows(self, file: OpenFile, block: Block, entry_state: int) -> Generator[Rows, None, Receipt]:
        """Yield the block's good records, and return its receipt, in which the number of output rows is 0."""
        source = file.source
        if source.streamed:
            return (yield from self._read_stream(file, block))
        first = first_start(source, file.fmt, block.start, entry_state)
        tally = yield from self._walk(file, block, first, block.end)
        state = _exit_state(file, block, entry_state, tally.last_record)
        return tally.receipt(block, source.data_offset, (entry_state, state))

    def _read_stream(self, file: OpenFile, block: Block) -> Generator[Rows, None, Receipt]:
        """Read a whole compressed file with its first block; later blocks, planned under another codec, are empty."""
        source, states = file.source, (file.fmt.initial_state, file.fmt.initial_state)
        if block.start > 0:
            return _Tally(0, 0, 0).receipt(block, 0, states)
        tally = yield from self._walk(file, block, first_start(source, file.fmt, 0, states[0]), sys.maxsize)
        receipt = tally.receipt(block, source.data_offset, states)
        return receipt._replace(stream_size=source.size, consumed=source.consumed)

    def _walk(self, file: OpenFile, block: Block, first: int, end: int) -> Generator[Rows, None, _Tally]:
        tally, limits = _Tally(first, first, first), WalkLimits(max_record_bytes=self.policies.max_record_bytes)
        size = 0 if file.fmt.holds_members else min(len(file.decoder.schema) * _BYTES_A_COLUMN, _MOST_BYTES)
        for chunk in join_chunks(chunks_of(file.source, file.fmt, first, end, limits), size):
            tally.skipped_records += chunk.skipped_records
            tally.skipped_bytes += chunk.skipped_bytes
            if len(chunk.starts):
                with naming_place(file.source, file.fmt, chunk.offset):
                    rows = self._decode(file.decoder, chunk, block, tally)
                if rows.batch.num_rows:
                    yield rows
                tally.last_record = chunk.offset + int(chunk.starts[-1])
            tally.next_start = chunk.next_offset
        return tally

    def _decode(self, decoder: Decoder, chunk: Chunk, block: Block, tally: _Tally) -> Rows:
        decoded = decoder.decode(chunk)
        for bad in decoded.bad:
            self.handle_bad(block, chunk, bad)
        offsets = chunk.starts + chunk.offset
        if decoded.bad:
            offsets = np.delete(offsets, [bad.index for bad in decoded.bad])
        tally.records += len(chunk.starts)
        tally.record_bytes += int((chunk.ends - chunk.begins).sum())
        tally.terminator_bytes += int((chunk.begins - chunk.starts).sum() + (chunk.nexts - chunk.ends).sum())
        tally.bad_records += len(decoded.bad)
        tally.rows += decoded.batch.num_rows
        if self.policies.proof == "digest":
            tally.digest += digest_records(chunk)
        return Rows(batch=decoded.batch, offsets=offsets, blocks=(block,), counts=np.array([len(offsets)]))


def describe_bad(file: OpenFile, block: Block, chunk: Chunk, bad: BadRecord) -> str:
    """Return which record of a block is bad, why, and its first bytes."""
    offset = chunk.offset + int(chunk.starts[bad.index])
    text = file.fmt.narrowed(file.source) if isinstance(file.fmt, EncodedFormat) else file.source
    line = line_number(text, offset // text.unit_bytes) if chunk.offset_map is None else None
    where = f"byte {offset} of {block}" + (f", line {line:,}" if line else "")
    return f"{file.fmt.name} record at {where}: {bad.reason}; the record is {excerpt(chunk.record(bad.index))}"


def _exit_state(file: OpenFile, block: Block, entry_state: int, last_record: int) -> int:
    """Return the state at the block's end, derived from the known state at its last record start."""
    source, fmt = file.source, file.fmt
    if not fmt.needs_scan:
        return entry_state
    if last_record < min(block.end, source.size):
        return scan_source(source, last_record, block.end, fmt)(fmt.initial_state)
    return scan_source(source, block.start, block.end, fmt)(entry_state)
