"""The classes that Spark calls: a data source and a reader for each `load`, in processes of the driver.

Spark pickles the data source after `load`, and with it the reader for the tasks. The list of files stays in the driver:
tasks get their blocks in their partitions.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructField, StructType

from airflow_provider_blockread.blocks import Block, FileVersion
from airflow_provider_blockread.errors import BlockReadError, OptionsError
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.spark.data_source.columns import (
    Columns,
    check_asked,
    chosen,
    file_schema,
    with_places,
    with_schema,
)
from airflow_provider_blockread.spark.data_source.options import NAME, ReadOptions, parse_options
from airflow_provider_blockread.spark.data_source.planning import plan_partitions
from airflow_provider_blockread.spark.data_source.reading import read_batches
from airflow_provider_blockread.spark.data_source.remedies import advise
from airflow_provider_blockread.spark.engines.columns import in_arrow, in_spark, opaque_type
from airflow_provider_blockread.spark.inferring import infer_columns, naming_sampled, with_inferred
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.stores import Stores

StorageOptions = Mapping[str, Mapping[str, object]]

_WRITES = "pyspark.sql.worker.write_into_data_source"  # what Spark's Python processes run for any kind of writing
_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"  # makes Spark's Python workers report only the message of an error


def make_data_source(storage_options: StorageOptions) -> type[DataSource]:
    """Return the class to register; it holds the storage options (by root URI), so that no option or plan does."""
    return type("BlockRead", (BlockReadSource,), {"storage_options": storage_options})


def _in_spark(schema: pa.Schema) -> StructType:
    """Return the columns in Spark's types, and refuse those for which Spark has no type."""
    return StructType([_field(column) for column in schema])


def _field(column: pa.Field) -> StructField:
    with suppress(PySparkTypeError):
        if "timestamp[ns" not in str(column.type):  # at any depth; Spark's unit is the microsecond
            return in_spark(pa.schema([column])).fields[0]
    msg = (
        f"{NAME}: column {column.name!r} is of type {column.type}, which Spark does not have; declare another type in"
        " the schema"
    )
    raise OptionsError(msg)


@contextmanager
def _short_errors(*, listed: bool = True) -> Iterator[None]:
    try:
        yield
    except BlockReadError as error:
        advise(error, listed=listed)
        os.environ[_HIDE_TRACEBACK] = "1"  # safe to set, as this worker ends with the error
        raise


def _refuse() -> NoReturn:
    with _short_errors():
        msg = (
            f"{NAME} neither writes nor streams: save rows in one of Spark's own formats, such as parquet; to take each"
            " file once as they arrive, run windows with `blockread run`"
        )
        raise OptionsError(msg)


class BlockReadSource(DataSource):
    """The files of one `load`, listed once: all queries read these versions of the files."""

    storage_options: ClassVar[StorageOptions] = {}
    now: ClassVar[Callable[[], float]] = time.time  # seconds since the epoch

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        if _WRITES in sys.modules:  # before what is wrong with the path or an option as something to read
            _refuse()
        with _short_errors(listed=False):
            self._read = parse_options(dict(options))
            stores = Stores(self.storage_options)
            self._is_typed = True  # by `.schema(...)`; otherwise Spark calls `schema`
            self._files = list(list_files(stores, self._read.source, now_s=type(self).now()))

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> StructType:
        """Return the columns if `.schema(...)` has not set them; those of csv may be inferred from the files."""
        with _short_errors():
            option, self._is_typed = self._read.record_format, False
            if isinstance(option, Csv) and option.schema is None:
                option = self._inferred(option)
            self._read = replace(self._read, record_format=option)
            return _in_spark(chosen(file_schema(option), self._read.columns))

    def _inferred(self, option: Csv) -> Csv:
        """Return the format with the schema of the first files."""
        sampled: list[str] = []
        versions = (version for version in self._files if version.size)
        with naming_sampled(sampled):
            schema = infer_columns(Stores(self.storage_options), versions, option, self._read, sampled)
        return with_inferred(option, schema)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader that returns these columns."""
        with _short_errors():
            if kind := opaque_type(schema):
                msg = f"{NAME}: no format reads a {kind}; declare a string, and convert it in Spark, as by `parse_json`"
                raise OptionsError(msg)
            asked = in_arrow(schema)
            read = self._read
            if self._is_typed:
                read = replace(read, record_format=with_schema(read.record_format, asked))
            own = file_schema(read.record_format)
            usual = in_arrow(_in_spark(with_places(own)))
            check_asked(read, chosen(own, read.columns).names, usual, asked)
            files, self._files = self._files, []
            return BlockReadReader(read, Columns.of(read.record_format, asked), self.storage_options, files)

    def streamReader(self, schema: StructType) -> Any:  # noqa: N802, ANN401 - Spark's name, and not its type
        """Return what refuses a stream, since Spark loses an error that is raised before it has a reader."""
        del schema
        return _NoStream()


class _NoStream:
    """Refuses whatever Spark asks for first, which depends on its version."""

    def __getattr__(self, _: str) -> NoReturn:
        _refuse()

    def stop(self) -> None:
        """Do nothing, since nothing was started."""


@dataclass
class BlockPartition(InputPartition):
    """Blocks to read, and their entry states by number."""

    blocks: list[Block]
    states: dict[int, int]


class BlockReadReader(DataSourceReader):
    """Plans the partitions of a `load` once, and reads one of them in each task.

    It does not accept filters: Spark 4.3 would reuse the partitions filtered for one query in later queries of the same
    DataFrame that have no filters, which would lose rows.
    """

    def __init__(
        self, read: ReadOptions, columns: Columns, storage_options: StorageOptions, files: Sequence[FileVersion]
    ) -> None:
        self._read, self._columns, self._storage_options = read, columns, storage_options
        self._files = files

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_files": ()}

    def partitions(self) -> Sequence[InputPartition]:
        """Return the partitions, one for each task."""
        with _short_errors():
            planned = plan_partitions(self._read, Stores(self._storage_options), self._files)
            return [BlockPartition(blocks, states) for blocks, states in planned]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition; the one that Spark itself creates if there are no partitions has no rows."""
        if not isinstance(partition, BlockPartition):
            return
        stores = Stores(self._storage_options)
        with _short_errors():
            yield from read_batches(self._read, self._columns, stores, partition.blocks, partition.states)
