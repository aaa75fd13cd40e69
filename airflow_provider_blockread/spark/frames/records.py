"""The DataFrame of a group's records: exactly the rows of the staged files, which are listed by name."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from airflow_provider_blockread.errors import ProofError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.records.columns.schema import schema_text
from airflow_provider_blockread.spark.frames.source import NAME, staged_source
from airflow_provider_blockread.storage.stores import Stores

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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
    return session.createDataFrame([], schema_text(schema))


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
        session.dataSource.register(staged_source(make_stores, files, schema, secret))
        return session.read.format(NAME).schema(schema_text(schema)).load()
    frame = session.read.options(**_EXACT).schema(schema_text(schema)).parquet(*paths)
    found, written = frame.count(), sum(file.rows for file in files)
    if found != written:
        msg = f"Spark finds {found} records in the staged files, {written} were written; clear the group's task"
        raise ProofError(msg)
    return frame
