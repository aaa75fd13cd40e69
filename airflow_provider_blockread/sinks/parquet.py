"""A directory of Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count, groupby

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.errors import BlockReadError, FunctionError, OptionsError, ProofError, SourceError
from airflow_provider_blockread.exchange.model import OutputFile, Target
from airflow_provider_blockread.options import ColumnarSink, ParquetSink
from airflow_provider_blockread.sinks.conform import check_schema, conform, owned
from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.sinks.encodings import RAW, choose_encodings
from airflow_provider_blockread.sinks.log.steps import LOG, LogSteps
from airflow_provider_blockread.sinks.matching import known_names, matched, matched_writer
from airflow_provider_blockread.sinks.matching import misfit as unmatched
from airflow_provider_blockread.sinks.names import AttemptName
from airflow_provider_blockread.sinks.partitions import PartitionedWriter, check_partitions, folder_of, whole_schema
from airflow_provider_blockread.sinks.partitions import misfit as unpartitioned
from airflow_provider_blockread.sinks.protocol import Applied, Earlier, Marker, State, Step, Writer
from airflow_provider_blockread.sinks.staging import StagedFile, StagedFiles, explained
from airflow_provider_blockread.sinks.statistics import column_statistics, misfit
from airflow_provider_blockread.storage import Stores

_PAGE_BYTES = 256 * 2**10  # a page is encoded and compressed while it is in the processor's cache
_MAX_ARRAYS = 100_000  # of the batches that are held: each costs about 200 bytes beside its data
_FEWEST_ARRAYS = 10  # that a batch counts for


class ParquetDirectory(Directory):
    """Publishes Parquet files, whose own footers say how many rows they hold, and logs them if asked to."""

    def __init__(self, stores: Stores, option: ParquetSink, kind: str = "output") -> None:
        super().__init__(stores, option, kind)
        self._option = option
        self._log = LogSteps(stores, option, self._schema_of)

    def writer(self, target: Target, name: AttemptName, schema: pa.Schema | None) -> Writer:
        """Return a writer that rolls to the next file at `file_bytes`."""
        named = partial(name.uri, target.folder, suffix=self._suffix)
        make = partial(parquet_writer, self._stores, self._option, named)
        return matched_writer(self._option, target.columns, make, schema)

    def prepare(self, schema: pa.Schema | None, staging: str) -> Target:
        """Return the work area, where tasks write, if rows have the columns to partition by, and those of the log."""
        columns = known_names(self._option, self.uri, self._log.names())
        rows = None if schema is None else matched(schema, columns)
        if schema is not None and (problem := unmatched(schema, self._option) or unpartitioned(rows, self._option)):
            msg = f"{self.uri}: {problem}"
            raise OptionsError(msg)
        self._log.check(rows, self.is_empty)
        return replace(super().prepare(rows, staging), columns=columns)

    def steps(self, new: Sequence[OutputFile], earlier: Earlier) -> list[Step]:
        """Return the moves and removals, of a window that has not too many partitions, and what is logged."""
        check_partitions(new, self._option, self.uri)
        return self._log.among(super().steps(new, earlier), new)

    def state(self, step: Step, marker: Marker) -> State:
        """Look where the file is, or into the log."""
        return self._log.state(step, marker) if step.kind == LOG else super().state(step, marker)

    def apply(self, steps: Sequence[Step], marker: Marker, still_mine: Callable[[], None]) -> Applied | None:
        """Take the steps one after another; return how the columns of the directory were changed, if they were."""
        changes = ""
        for is_log, some in groupby(steps, key=lambda step: step.kind == LOG):
            if is_log:
                still_mine()
                changes += "".join(self._log.take(step, marker) for step in some)  # one of them at most changes any
            else:
                super().apply(list(some), marker, still_mine)
        if not steps:
            super().apply((), marker, still_mine)
        return Applied(schema_changes=changes) if changes else None

    def undo(self, outputs: Earlier, marker: Marker) -> int:
        """Remove the files one after another, out of the log first."""
        self._log.withdraw(outputs, marker)
        return super().undo(outputs, marker)

    def _schema_of(self, output: OutputFile) -> pa.Schema:
        """Return the schema of the rows in a file, by its footer, wherever the file is."""
        there = output if self._is_whole(output.uri, output.size) else replace(output, uri=output.source)
        with self._explained(output.source, output.uri, output.size):
            size = self._stores.stat(there.uri).size
        if size != output.size:
            msg = f"{there.uri} has {size} bytes instead of {output.size}; clear the group that wrote it"
            raise ProofError(msg)
        return whole_schema(read_footer(self._stores, there).schema.to_arrow_schema())

    def _folder_of(self, output: OutputFile) -> str:
        return folder_of(output, self._option)

    def count(self, output: OutputFile) -> int:
        """Return the number of rows that the file's own footer says; only the footer is read."""
        return int(read_footer(self._stores, output).num_rows)


def parquet_writer(
    stores: Stores,
    option: ColumnarSink,
    name: Callable[[int], str],
    schema: pa.Schema | None,
    *,
    of_table: bool = False,
) -> Writer:
    """Return a writer of Parquet files, each of one partition where an option asks for it; as `ParquetWriter`."""
    if not option.partition_by:
        return ParquetWriter(stores, option, name, schema, of_table=of_table)
    numbers = count()

    def make() -> ParquetWriter:
        return ParquetWriter(stores, option, lambda _: name(next(numbers)), None, of_table=of_table)

    return PartitionedWriter(option, make, schema, keeps=of_table)


def read_footer(stores: Stores, output: OutputFile) -> pq.FileMetaData:
    """Return the footer of a file that a task wrote; nothing else is read.

    Raises:
        ProofError: when the file is missing, truncated or of another kind.
    """
    uri = output.uri
    try:
        with stores.open_read(uri) as file:
            return pq.read_metadata(file)
    except SourceError as error:
        msg = f"{uri} cannot be opened; clear the group that wrote it"
        raise ProofError(msg) from error
    except (pa.ArrowException, OSError) as error:
        msg = f"{uri} is truncated or no Parquet file; clear the group that wrote it"
        raise ProofError(msg) from error


class ParquetWriter(StagedFiles["_ParquetFile"]):
    """Writes record batches as they come; holds one row group, rolls to the next file at `file_bytes`.

    Args:
        stores: opens the staging folder.
        option: compression and sizes.
        name: gives the URI of a file by its number.
        schema: what every batch must have; None takes it from the first.
        of_table: the files are those of a table: its readers hold every type, and the reports have statistics.
    """

    def __init__(
        self,
        stores: Stores,
        option: ColumnarSink,
        name: Callable[[int], str],
        schema: pa.Schema | None,
        *,
        of_table: bool = False,
    ) -> None:
        super().__init__(stores)
        self._option, self._of_table = option, of_table
        self._name = name
        self._schema = schema
        self._group: list[pa.RecordBatch] = []
        self._group_bytes = 0
        self._full = min(option.row_group_bytes, option.file_bytes)

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Take a batch; what makes a full row group goes to the file."""
        del block
        if self._schema is None:
            check_schema(batch.schema)
            if self._of_table and (problem := misfit(batch.schema)):
                raise FunctionError(problem)
            self._schema = batch.schema
        batch = conform(batch, self._schema)
        if not batch.num_rows:
            return
        batch = owned(batch)
        self._group.append(batch)
        self._group_bytes += batch.nbytes
        if self._group_bytes >= self._full:
            self._flush()
        elif len(self._group) * max(batch.num_columns, _FEWEST_ARRAYS) >= _MAX_ARRAYS:
            self._group = pa.Table.from_batches(self._group).combine_chunks().to_batches()

    @property
    def held_bytes(self) -> int:
        """What it holds in memory."""
        return self._group_bytes

    @property
    def is_open(self) -> bool:
        """Whether it has a file open."""
        return self._open is not None

    def close(self) -> list[OutputFile]:
        """Finish the last file and return all of them."""
        self._flush()
        return super().close()

    def abort(self) -> None:
        """Remove all files, whole or not."""
        self._group = []
        super().abort()

    def _flush(self) -> None:
        if not self._group:
            return
        table = pa.Table.from_batches(self._group)
        if self._open is None:
            uri = self._name(len(self._files))
            self._open = _ParquetFile(self._stores, uri, table, self._option.compression, describes=self._of_table)
        groups = max(round(self._group_bytes / self._full), 1)
        self._open.write(table, rows_per_group=-(-table.num_rows // groups), size=self._group_bytes)
        self._group, self._group_bytes = [], 0
        if self._open.taken >= self._option.file_bytes:
            self._finish()


class _ParquetFile(StagedFile):
    """One Parquet file being written; `taken` counts uncompressed bytes. It may report statistics.

    The first table that it is to hold decides its schema and how its columns are encoded.
    """

    def __init__(self, stores: Stores, uri: str, first: pa.Table, compression: str, *, describes: bool = False) -> None:
        super().__init__(stores, uri)
        self.taken = 0
        self._describes = describes
        encodings = choose_encodings(first, compression)
        try:
            with explained(uri):
                self._parquet = pq.ParquetWriter(
                    self._file,
                    first.schema,
                    compression=compression,
                    use_dictionary=encodings.dictionary,
                    column_encoding=encodings.others or None,
                    write_statistics=describes or [name for name in first.schema.names if name != RAW],
                    data_page_size=_PAGE_BYTES,
                    coerce_timestamps="us",  # Spark reads no finer ones; a loss is an error, not silent
                )
        except BlockReadError:
            self._file.close()
            raise
        self._layers.insert(0, self._parquet)

    def finish(self) -> OutputFile:
        """Write the footer, and report what it says."""
        output = super().finish()
        if not self._describes:
            return output
        return replace(output, statistics=column_statistics(self._parquet.writer.metadata))

    def write(self, table: pa.Table, *, rows_per_group: int, size: int) -> None:
        """Write row groups of a table of `size` bytes."""
        with explained(self.uri):
            self._parquet.write_table(table, row_group_size=rows_per_group)
        self.taken += size
        self.rows += table.num_rows
