"""A directory of Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import OptionsError, ProofError, SourceError
from airflow_provider_blockread.exchange.files import read_small
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import ColumnarSink, ParquetSink
from airflow_provider_blockread.sinks.columnar.arranged import misarranged, sort_columns
from airflow_provider_blockread.sinks.columnar.writer import ParquetWriter, SortedWriter
from airflow_provider_blockread.sinks.log.directory import LoggedDirectory
from airflow_provider_blockread.sinks.matching import known_names, matched, matched_writer, unmatched
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.partitions import (
    PartitionedWriter,
    check_partitions,
    folder_names,
    folder_of,
    whole_schema,
)
from airflow_provider_blockread.sinks.protocol import Earlier, Step, Writer
from airflow_provider_blockread.storage import Stores

_SMALL = 32 * 2**10


class ParquetDirectory(LoggedDirectory):
    """Publishes Parquet files, whose footers say how many rows they hold, and logs them if the option says so."""

    def __init__(self, stores: Stores, option: ParquetSink, kind: str = "output") -> None:
        super().__init__(stores, option, kind)
        self._option = option

    def writer(self, target: Target, name: AttemptName, schema: pa.Schema | None) -> Writer:
        """Return a writer that starts the next file at `file_bytes`."""
        named = partial(name.uri, target.folder, suffix=self._suffix)
        make = partial(parquet_writer, self._stores, self._option, named)
        return matched_writer(self._option, target.columns, make, schema)

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return the work area, where tasks write, after a check of the partition columns and those of the log."""
        there = None if self._option.case_sensitive else self._log.columns()
        columns = known_names(self._option, self.uri, () if there is None else there.schema.names)
        if schema is not None:
            problem, schema = unmatched(schema, self._option), matched(schema, columns)
            if problem := problem or misarranged(schema, self._option):
                msg = f"{self.uri}: {problem}"
                raise OptionsError(msg)
        return replace(super().prepare(schema, staging), columns=columns)

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return the moves, removals and steps of the log, after a check of the window's number of partitions."""
        check_partitions(new, self._option, self.uri)
        return super().steps(new, earlier)

    def _schema_of(self, output: OutputFile) -> pa.Schema:
        """Return the schema of the rows in a file from its footer, whether it is staged or published."""
        there = output if self._stores.size(output.uri) == output.size else replace(output, uri=output.source)
        with self._explained(output.source, output.uri, output.size):
            size = self._stores.stat(there.uri).size
        if size != output.size:
            msg = f"{there.uri} has {size} bytes instead of {output.size}; clear the group that wrote it"
            raise ProofError(msg)
        return whole_schema(read_footer(self._stores, there).schema.to_arrow_schema())

    @property
    def _partitions(self) -> list[str]:
        return folder_names(self._option)

    def _folder_of(self, output: OutputFile) -> str:
        return folder_of(output, self._option)

    def count(self, output: OutputFile) -> int:
        """Return the number of rows according to the file's footer; only the footer is read."""
        return int(read_footer(self._stores, output).num_rows)


def parquet_writer(
    stores: Stores,
    option: ColumnarSink,
    name: Callable[[int], str],
    schema: pa.Schema | None,
    table: Target | None = None,
) -> Writer:
    """Return a writer of Parquet files, one per partition if the option says so; arguments as in `ParquetWriter`."""
    cls = SortedWriter if sort_columns(option) else ParquetWriter
    if not option.partition_by:
        return cls(stores, option, name, schema, table)
    numbers = count()

    def make() -> ParquetWriter:
        return cls(stores, option, lambda _: name(next(numbers)), None, table)

    return PartitionedWriter(option, make, schema)


def read_footer(stores: Stores, output: OutputFile) -> pq.FileMetaData:
    """Return the footer of a file that a task wrote; nothing else is read.

    Raises:
        ProofError: when the file is missing, truncated or of another kind.
    """
    uri = output.uri
    with intact(uri):
        # From a Python file the library reads several parts; for a small file it is faster to read it whole.
        if output.size <= _SMALL and (whole := read_small(stores, uri, output.size)):
            return pq.read_metadata(pa.BufferReader(whole))
        with stores.open_read(uri) as file:
            return pq.read_metadata(file)


def read_rows(stores: Stores, output: OutputFile, columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield some columns of the rows in a file that a task wrote, batch by batch.

    Raises:
        ProofError: when the file is missing, truncated or of another kind.
    """
    with intact(output.uri), stores.open_read(output.uri) as file, pq.ParquetFile(file) as opened:
        yield from opened.iter_batches(columns=columns, use_threads=False)


@contextmanager
def intact(uri: str) -> Iterator[None]:
    """Turn errors in the body into one that says that a file which a task wrote is not there as it wrote it.

    Raises:
        ProofError: when the file is missing, truncated or of another kind.
    """
    try:
        yield
    except SourceError as error:
        msg = f"{uri} cannot be opened; clear the group that wrote it"
        raise ProofError(msg) from error
    except (pa.ArrowException, OSError) as error:
        msg = f"{uri} is truncated or not a Parquet file; clear the group that wrote it"
        raise ProofError(msg) from error
