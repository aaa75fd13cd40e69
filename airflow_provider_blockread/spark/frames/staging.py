"""Staged records: what a group's tasks have read, as Parquet files that only the group's own DataFrame reads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.blocks.model import by_file
from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.layout import staging_folder
from airflow_provider_blockread.exchange.model import GroupResult, ReadSpec, Target
from airflow_provider_blockread.exchange.receipts import read_receipts
from airflow_provider_blockread.options import AsRead, ParquetSink
from airflow_provider_blockread.proof import Evidence, prove
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.sinks.registry import make_sink, quarantine_of
from airflow_provider_blockread.sinks.staging import counted
from airflow_provider_blockread.storage.stores import Stores


def staging_spec(spec: ReadSpec) -> ReadSpec:
    """Return the specification with which tasks stage the records and the place columns that the function requests."""
    options, sink = spec.options, spec.options.sink
    staged = ParquetSink(sink.uri, work_uri=sink.work_area, compression="lz4")
    as_read = replace(options, sink=staged, function=AsRead(columns=options.function.columns))
    return replace(spec, options=as_read, target=Target(folder=staging_folder(spec.folder)))


@contextlib.contextmanager
def removed_afterwards(stores: Stores, folder: str) -> Iterator[None]:
    """Remove a folder after the body, however that ends; what cannot be removed now is pruned later."""
    try:
        yield
    finally:
        with contextlib.suppress(BlockReadError):
            stores.remove_folder(folder)


def prove_staged(stores: Stores, spec: ReadSpec, blocks: Sequence[Block], read: GroupResult) -> None:
    """Refuse staged records that are not exactly those of the blocks.

    If another group or window reads the rest of a file, the commit compares what both found at the border. `spec` is
    the specification with which tasks staged the records, `read` their result.

    Raises:
        ProofError: naming the block or the staged file.
    """
    options = spec.options
    sink = make_sink(stores, options.sink)
    quarantine = make_sink(stores, quarantine_of(options.sink, spec.feed, spec.window), "quarantine")
    prove(
        Evidence(
            name=str(spec),
            window=spec.window,
            blocks=((block, partial(_as_read, block)) for block in _borders_here(blocks)),
            results=(read,),
            receipts=lambda result: read_receipts(stores, result.receipts_uri, result.receipts_hash),
            count=lambda files: counted(stores, files, sink.count),
            count_bad=lambda files: counted(stores, files, quarantine.count),
            fmt=make_format(options.record_format),
            writes=True,
            policies=replace(options.policies, max_bad_records=None),  # the commit knows those of other groups
            function=options.function,
            before=_entered(stores, blocks, read),
        )
    )


def _as_read(block: Block) -> FileVersion:
    """Return the version that was planned: tasks have compared it, and the commit will again."""
    return block.version


def _borders_here(blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks as if each file had been planned only as far as the group reads it."""
    for of_file in by_file(blocks):
        start, end = of_file[0].start, of_file[-1].end
        yield from (block._replace(part_start=start, part_end=end) for block in of_file)


def _entered(stores: Stores, blocks: Sequence[Block], read: GroupResult) -> dict[int, tuple[int, int]]:
    """Return where, and in which state, the group entered files that it does not read from their beginning."""
    entered = {of_file[0].number for of_file in by_file(blocks) if of_file[0].start}
    if not entered:
        return {}
    receipts = read_receipts(stores, read.receipts_uri, read.receipts_hash)
    return {r.file: (r.first_start, r.entry_state) for r in receipts if r.block in entered}
