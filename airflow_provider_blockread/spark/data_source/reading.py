"""Reading a partition: batches with the columns that a query returns, one per chunk of records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

import pyarrow as pa

from airflow_provider_blockread.blocks import Block
from airflow_provider_blockread.blocks.model import by_file
from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records.model import BadRecord, Chunk
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.data_source.columns import Columns
from airflow_provider_blockread.spark.data_source.options import ReadOptions
from airflow_provider_blockread.spark.tasks.block_reader import BlockReader, OpenFile, describe_bad
from airflow_provider_blockread.spark.tasks.opening import open_version
from airflow_provider_blockread.spark.tasks.worker import keep_freed_memory
from airflow_provider_blockread.storage.stores import Stores


def read_batches(
    options: ReadOptions, columns: Columns, stores: Stores, blocks: list[Block], states: Mapping[int, int]
) -> Iterator[pa.RecordBatch]:
    """Yield the good records of the blocks, in order; the blocks' files must be the versions that were listed.

    Raises:
        RecordError: when a record is bad and the policy is `fail`.
    """
    keep_freed_memory()
    fmt = make_format(columns.option)
    fails = options.policies.on_bad_record == "fail"
    for of_file in by_file(blocks):
        with open_version(stores, of_file[0].version, fmt, options) as (source, bound):
            file = OpenFile(source=source, fmt=bound, decoder=columns.decoder(bound))
            handle = partial(_fail, file) if fails else lambda *_: None
            reader = BlockReader(policies=options.policies, handle_bad=handle)
            for block in of_file:
                rows = reader.rows(file, block, states.get(block.number, fmt.initial_state))
                yield from map(columns.batch, rows)


def _fail(file: OpenFile, block: Block, chunk: Chunk, bad: BadRecord) -> None:
    msg = (
        f"{describe_bad(file, block, chunk, bad)}; correct the file or the format's options, or set on_bad_record to"
        " 'drop'"
    )
    raise RecordError(msg)
