"""What the work area shows about blocks and bad records."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.exchange.files import read_small
from airflow_provider_blockread.exchange.model import Receipt
from airflow_provider_blockread.exchange.receipts import read_receipts
from airflow_provider_blockread.exchange.results import read_result
from airflow_provider_blockread.ledger.model import Generation
from airflow_provider_blockread.ledger.overview.window import Output
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.ledger.windows.progress import group_progress
from airflow_provider_blockread.pages.display.strips import worst
from airflow_provider_blockread.spark.tasks.quarantine import QUARANTINE_SCHEMA
from airflow_provider_blockread.steps.model import Environment

_MOST_BYTES, _MOST_FILES = 64 * 2**20, 100  # of the quarantine that a page opens
_BAD_COLUMNS = pa.schema(
    QUARANTINE_SCHEMA.field(name).with_nullable(False)  # noqa: FBT003 - takes no names
    for name in ("path", "block", "offset", "length", "reason", "bytes")
)


class QuarantinedRecord(NamedTuple):
    """A record in the quarantine."""

    path: str
    block: int
    offset: int
    length: int
    reason: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FileBlock:
    """A block of a file in a window, with its receipt if its group is done."""

    number: int
    start: int
    end: int
    group: int
    state: str
    receipt: Receipt | None = None


def file_blocks(
    env: Environment, row: WindowRow, generation: Generation, file: int
) -> tuple[list[FileBlock], list[str]]:
    """Return the blocks of a file in a window, in order, and where their tasks wrote files with bad records.

    Raises:
        ExchangeError: when the plan or the receipts are gone.
    """
    blocks = list(env.blocks(row.window, generation, file=file))
    named = {block.group for block in blocks}
    groups = [one for one in list_groups(env.ledger, row.window.id, generation.number) if one.ref.group in named]
    results = [read_result(env.stores, one.result_uri, str(one.result_hash)) for one in groups if one.result_uri]
    receipts = {
        receipt.block: receipt
        for result in results
        for receipt in read_receipts(env.stores, result.receipts_uri, result.receipts_hash, of_file=file)
    }
    now = env.ledger.now()
    states = {group.ref.group: group_progress(group, now).state for group in groups}
    found = [
        FileBlock(
            number=block.number,
            start=block.start,
            end=block.end,
            group=block.group,
            state=states.get(block.group, "done" if row.shown else "waiting"),
            receipt=receipts.get(block.number),
        )
        for block in blocks
    ]
    return found, [one.uri for result in results for one in result.quarantined]


def file_states(env: Environment, row: WindowRow, generation: Generation) -> dict[int, str]:
    """Return the state of each file of a window, by its number: the worst state of its groups.

    The result is empty if the plan is gone.
    """
    now = env.ledger.now()
    groups = list_groups(env.ledger, row.window.id, generation.number)
    states = {one.ref.group: group_progress(one, now).state for one in groups}
    found: dict[int, str] = {}
    try:
        for block in env.blocks(row.window, generation):
            found[block.file] = worst((found.get(block.file, "done"), states.get(block.group, "waiting")))
    except BlockReadError:
        return {}
    return found


def bad_records(
    env: Environment, outputs: Sequence[Output], *, path: str = "", limit: int = 100
) -> tuple[list[QuarantinedRecord], str]:
    """Return the first records of quarantine files, or of one path in them, and why these are not all, if so."""
    found: list[QuarantinedRecord] = []
    opened, size, left = 0, 0, ""
    try:
        for output in outputs:
            if len(found) == limit:
                return found, ""
            if opened == _MOST_FILES or size + output.size > _MOST_BYTES:
                left = left or output.uri
                continue
            opened, size = opened + 1, size + output.size
            found += islice(_of_file(env, output.uri, path), limit - len(found))
    except (pa.ArrowException, OSError, ValueError, BlockReadError) as error:
        return found, f"The quarantine cannot be read: {error}"
    return found, f"A page does not read all of the quarantine; more is in {left}" if left else ""


def _of_file(env: Environment, uri: str, path: str) -> Iterator[QuarantinedRecord]:
    with pq.ParquetFile(io.BytesIO(read_small(env.stores, uri, _MOST_BYTES))) as opened:
        for batch in opened.iter_batches(1000, columns=_BAD_COLUMNS.names, use_threads=False):
            found = [name for name in _BAD_COLUMNS.names if name in batch.schema.names]
            columns = (column.to_pylist() for column in batch.select(found).cast(_BAD_COLUMNS).columns)
            yield from (row for row in map(QuarantinedRecord, *columns) if not path or row.path == path)
