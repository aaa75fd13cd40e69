"""A Python data source over staged files, for work areas that Spark's JVM cannot open.

Paths and credentials are in its closure, which Spark pickles with it, and never in its options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.parquet import intact
from airflow_provider_blockread.spark.engines.reporting import own_errors_as_text
from airflow_provider_blockread.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSource

NAME = "blockread_staged"
_BATCH_BYTES = 2**20  # Spark's JVM is slower with smaller and larger batches


def staged_source(
    make_stores: Callable[[], Stores], files: Sequence[OutputFile], schema: pa.Schema, secret: str
) -> type[DataSource]:
    """Return a data source that reads exactly these files, as their writers reported them, one partition per file.

    The batches have exactly `schema`, as Spark requires; `secret` seals the errors of this package.
    """
    from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
    from pyspark.sql.types import StructType

    class Reader(DataSourceReader):
        def partitions(self) -> list[InputPartition]:
            return [InputPartition(file) for file in files]

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            with own_errors_as_text(secret):
                yield from read_file(make_stores(), partition.value, schema)

    class Staged(DataSource):
        @classmethod
        def name(cls) -> str:
            return NAME

        def reader(self, schema: StructType) -> DataSourceReader:
            del schema  # the same as the given one
            return Reader()

    return Staged


def read_file(stores: Stores, file: OutputFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a staged file in batches of this schema.

    Raises:
        ProofError: when the file is damaged, or does not contain the rows that its writer reported.
    """
    rows = 0
    with intact(file.uri), stores.open_read(file.uri) as raw, pq.ParquetFile(raw) as parquet:
        size = sum(parquet.metadata.row_group(n).total_byte_size for n in range(parquet.num_row_groups))
        rows_a_batch = max(file.rows * _BATCH_BYTES // max(size, 1), 1)
        for batch in parquet.iter_batches(rows_a_batch, use_threads=False):
            rows += batch.num_rows
            yield batch.cast(schema)
    if rows != file.rows:
        msg = f"staged file {file.uri} holds {rows} rows, {file.rows} were written; clear the group's task"
        raise ProofError(msg)
