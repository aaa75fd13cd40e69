"""The DataFrame of a group's records: exactly the rows of the staged files, which are listed by name.

A Python data source reads them from work areas that Spark's JVM cannot open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.sinks.parquet import intact
from airflow_provider_blockread.spark.engines.columns import in_spark
from airflow_provider_blockread.spark.engines.reporting import own_errors_as_text
from airflow_provider_blockread.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.datasource import DataSource

#: The setting for the most rows that a batch for Python has; 0 and negative numbers set no limit.
ROWS_A_BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"

_STAGED = "blockread_staged"
_MOST_ROWS = 2**31 - 1  # of a batch that has no limit, in Spark's own code
_BATCH_BYTES = 2**20  # Spark's JVM is slower with smaller and larger batches
# URIs that the JVM opens unchanged, under the identity of its process. Some characters would be read as patterns, and
# with patterns disabled ("__globPaths__") Spark lists each of several such files several times.
_OF_THE_JVM = re.compile(r"(?:file|hdfs)://[^][{}*?\\]*")
_EXACT = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "mergeSchema": "false",
    "datetimeRebaseMode": "CORRECTED",
}


def empty_frame(session: SparkSession, schema: pa.Schema) -> DataFrame:
    """Return a DataFrame with these columns and no rows."""
    return session.createDataFrame([], in_spark(schema))


def records_frame(
    session: SparkSession,
    schema: pa.Schema,
    files: Sequence[OutputFile],
    make_stores: Callable[[], Stores],
    secret: str,
) -> DataFrame:
    """Return the rows of staged files as a DataFrame.

    `make_stores` opens files that the JVM cannot open, in tasks, to which it is sent with the credentials; `secret`
    seals the errors of this package there.

    Raises:
        ProofError: when Spark does not find the rows that were written.
    """
    paths = [file.uri for file in files]
    if not paths:
        return empty_frame(session, schema)
    if not all(map(_OF_THE_JVM.fullmatch, paths)):
        if int(str(session.conf.get(ROWS_A_BATCH))) <= 0:
            session.conf.set(ROWS_A_BATCH, _MOST_ROWS)  # means the same, but Spark also lets a data source have it
        session.dataSource.register(_staged_source(make_stores, files, schema, secret))
        return session.read.format(_STAGED).schema(in_spark(schema)).load()
    frame = session.read.options(**_EXACT).schema(in_spark(schema)).parquet(*paths)
    found, written = frame.count(), sum(file.rows for file in files)
    if found != written:
        msg = f"Spark finds {found} records in the staged files, {written} were written; clear the group's task"
        raise ProofError(msg)
    return frame


def _staged_source(
    make_stores: Callable[[], Stores], files: Sequence[OutputFile], schema: pa.Schema, secret: str
) -> type[DataSource]:
    """Return a Python data source that reads exactly these files, one partition per file.

    Paths and credentials are in its closure, which Spark pickles with it, and never in its options. The batches
    have exactly `schema`, as Spark requires.
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
            return _STAGED

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
