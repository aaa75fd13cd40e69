"""Receipt files: one Parquet file per attempt, one row per block, in block order. Columns are `Receipt`'s fields."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import ExchangeError
from airflow_provider_blockread.exchange.files import content_hash, read_checked
from airflow_provider_blockread.exchange.model import Receipt
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.storage.stores import Stores

SCHEMA = pa.schema(
    [pa.field(name, pa.uint64() if name == "digest" else pa.int64(), nullable=False) for name in Receipt._fields]
)


def receipts_batch(receipts: Iterable[Receipt]) -> pa.RecordBatch:
    """Return receipts as columns, in the given order."""
    columns = list(zip(*receipts, strict=True)) or [()] * len(SCHEMA)
    return pa.record_batch(
        [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], schema=SCHEMA
    )


def receipts_of(columns: Mapping[str, npt.NDArray[np.int64 | np.uint64]]) -> pa.RecordBatch:
    """Return receipts from columns of equal length, one of them `block`; the others are zero."""
    zeros = np.zeros(len(columns["block"]), np.int64)
    return pa.record_batch([pa.array(columns.get(f.name, zeros), f.type) for f in SCHEMA], schema=SCHEMA)


def with_rows_out(receipts: pa.RecordBatch, rows_out: Sequence[int]) -> pa.RecordBatch:
    """Return receipts with other numbers of output rows."""
    place = SCHEMA.get_field_index("rows_out")
    return receipts.set_column(place, SCHEMA.field(place), pa.array(rows_out, pa.int64()))


class ReceiptLog:
    """Collects the receipts of a task, one by one or as columns."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []
        self._single: list[Receipt] = []

    def add(self, receipts: Receipt | pa.RecordBatch) -> None:
        """Add the next receipt, or several as columns."""
        if isinstance(receipts, Receipt):
            self._single.append(receipts)
            return
        self._end_single()
        self._batches.append(receipts)

    def close(self) -> pa.RecordBatch:
        """Return all receipts, in the order in which they were added."""
        self._end_single()
        return pa.Table.from_batches(self._batches, SCHEMA).combine_chunks().to_batches()[0]

    def _end_single(self) -> None:
        if self._single:
            self._batches.append(receipts_batch(self._single))
            self._single = []


def receipt_sums(batches: Sequence[pa.RecordBatch]) -> Tally:
    """Return the sums of receipts."""
    table = pa.Table.from_batches(batches, SCHEMA)
    names = ("records", "bad_records", "start", "end")
    records, bad_records, start, end = (pc.sum(table.column(name), min_count=0).as_py() for name in names)
    return Tally(blocks=table.num_rows, records=records, bad_records=bad_records, bytes=end - start)


def write_receipts(stores: Stores, uri: str, batches: Iterable[pa.RecordBatch]) -> str:
    """Write receipts, sorted by block, and return the file's hash."""
    table = pa.Table.from_batches(batches, SCHEMA).sort_by("block")
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", row_group_size=32_768)
    stores.write_bytes_atomic(uri, sink.getvalue())
    return content_hash(sink.getvalue())


def read_receipts(stores: Stores, uri: str, expected_hash: str, *, of_file: int | None = None) -> Iterator[Receipt]:
    """Yield the receipts of one attempt in block order, or those of one file.

    Raises:
        ExchangeError: when the file is missing, or is not what the attempt wrote.
    """
    data = read_checked(stores, uri, expected_hash, "receipt file")
    try:
        with pq.ParquetFile(io.BytesIO(data)) as file:
            for batch in file.iter_batches(32_768, columns=SCHEMA.names, use_threads=False):
                rows = batch if of_file is None else batch.filter(pc.field("file") == of_file)
                yield from map(Receipt._make, zip(*(column.to_pylist() for column in rows.columns), strict=True))
    except (pa.ArrowException, TypeError) as error:
        msg = f"receipt file {uri} cannot be read ({error}); clear the group's task so that it is read again"
        raise ExchangeError(msg) from error
