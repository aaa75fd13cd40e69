"""Several small files read at once: their rows, their bad records, and a receipt for each file."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.exchange.receipts import receipts_of
from airflow_provider_blockread.records.digest import record_hashes
from airflow_provider_blockread.records.format import BaseFormat
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.joining import JoinedFiles
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoded, Offsets
from airflow_provider_blockread.spark.tasks.block_reader import Rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """What was read from several files: good records, bad records, and receipts as if all rows were output."""

    rows: Rows
    bad: Sequence[tuple[Block, Chunk, BadRecord]]
    receipts: pa.RecordBatch


@dataclass(kw_only=True)
class JoinedRead:
    """Small files of one block each, with the same header, that were joined and decoded as one chunk."""

    blocks: Sequence[Block]
    fmt: BaseFormat
    header: bytes
    files: JoinedFiles
    decoded: Decoded
    owners: Offsets = field(init=False)  # the file of each bad record

    def __post_init__(self) -> None:
        self._bad = np.array([record.index for record in self.decoded.bad], np.int64)
        self.owners = np.searchsorted(self.files.firsts, self._bad, side="right") - 1

    def part(self, low: int, high: int, receipts: pa.RecordBatch) -> Together:
        """Return what was read from the files with numbers from `low` to below `high`; `receipts` has those of all."""
        files, chunk = self.files, self.files.chunk
        first, last = files.firsts[[low, high]].tolist()
        some = slice(*np.searchsorted(self._bad, [first, last]).tolist())
        counts = np.diff(files.firsts[low : high + 1])
        offsets = chunk.starts[first:last] + np.repeat(len(self.header) - files.bases[low:high], counts)
        owners, bad = self.owners[some], self._bad[some]
        rows = Rows(
            batch=self.decoded.batch.slice(first - some.start, last - first - len(bad)),
            offsets=np.delete(offsets, bad - first) if len(bad) else offsets,
            blocks=self.blocks[low:high],
            counts=counts - np.bincount(owners - low, minlength=high - low),
        )
        places = offsets[bad - first].tolist()
        alone = [
            (self.blocks[owner], _alone(chunk, record.index, place), BadRecord(index=0, reason=record.reason))
            for owner, record, place in zip(owners.tolist(), self.decoded.bad[some], places, strict=True)
        ]
        return Together(rows=rows, bad=alone, receipts=receipts.slice(low, high - low))

    def receipts(self, *, digest: bool) -> pa.RecordBatch:
        """Return the receipts of all files as if all rows were output, with sums of record hashes if `digest`."""
        files, count = self.files, len(self.blocks)
        sizes = np.array([block.end for block in self.blocks], np.int64)
        records, bad = np.diff(files.firsts), np.bincount(self.owners, minlength=count)
        columns = {
            "block": np.array([block.number for block in self.blocks], np.int64),
            "file": np.array([block.file for block in self.blocks], np.int64),
            "end": sizes,
            "data_offset": np.full(count, len(self.header)),
            "first_start": np.full(count, len(self.header)),
            "next_start": sizes,
            "entry_state": np.full(count, self.fmt.initial_state),
            "exit_state": self._exit_states(),
            "records": records,
            "record_bytes": files.record_bytes,
            "terminator_bytes": files.terminator_bytes,
            "skipped_records": files.skipped_records,
            "skipped_bytes": files.skipped_bytes,
            "bad_records": bad,
            "rows": records - bad,
            "rows_out": records - bad,
        }
        if digest:
            sums = np.append(np.uint64(0), np.cumsum(record_hashes(files.chunk), dtype=np.uint64))
            columns["digest"] = np.diff(sums[files.firsts])
        return receipts_of(columns)

    def _exit_states(self) -> Offsets:
        """Return the state at each file's end: the initial state, unless its last record has no end."""
        files, starts = self.files, self.files.chunk.starts
        states = np.full(len(files), self.fmt.initial_state)
        for file in np.flatnonzero(files.ended).tolist() if self.fmt.needs_scan else []:
            begin, end = files.bases[file], files.bases[file] + files.sizes[file]
            first, behind = files.firsts[[file, file + 1]]
            last = starts[behind - 1] if behind > first else begin
            source = ByteSource(io.BytesIO(files.chunk.buffer[last:end]))
            states[file] = self.fmt.scan(source, 0, source.size)(self.fmt.initial_state)
        return states


def _alone(chunk: Chunk, index: int, place: int) -> Chunk:
    """Return a chunk with only one record of a chunk; the record starts at byte `place` of its file."""
    start, begin, end, behind = (int(at[index]) for at in (chunk.starts, chunk.begins, chunk.ends, chunk.nexts))
    buffer, zero = chunk.buffer[start:behind], np.zeros(1, np.int64)
    ends = (zero, zero + (begin - start), zero + (end - start), zero + (behind - start))
    return Chunk(buffer, place, *ends, place + behind - start, 0, 0)
