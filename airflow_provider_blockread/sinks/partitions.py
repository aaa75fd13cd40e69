"""Partitioned sinks: a file holds the rows of one combination of values, so that readers can skip files."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airflow_provider_blockread.errors import ExchangeError, FunctionError, ProofError, RowError
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.options import ColumnarSink, ParquetSink, Sink
from airflow_provider_blockread.options.partitions import Partition
from airflow_provider_blockread.records.excerpts import excerpt
from airflow_provider_blockread.sinks.columnar import transforms
from airflow_provider_blockread.sinks.columnar.arranged import left_out, misarranged
from airflow_provider_blockread.sinks.columnar.writer import ParquetWriter
from airflow_provider_blockread.sinks.conform import check_precision, conform, misnamed

#: The name of null in the name of a folder.
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"

_DROPPED = b"blockread.partitions"  # the footer's key for the columns that the file leaves out
_ESCAPED = frozenset([*map(chr, range(32)), "\x7f", *"\"#%'*/:=?\\{[]^"])  # in names of folders, as in Spark
_LONGEST = 255  # bytes of a folder's name on most file systems
_HELD = 4  # row groups that the files of one task may hold in memory
_MOST = 2**31  # limit of the numbers of combinations, so that another column does not make them overflow
_OPEN = 64  # files that one task may have open


def folder_names(option: ColumnarSink) -> list[str]:
    """Return how the names of an output's partition folders begin, from the outermost to the innermost."""
    return [_named(partition.name) for partition in option.partitions]


def folder_of(output: OutputFile, option: ColumnarSink) -> str:
    """Return the folder of a file below the output in Hive's form: `day=2026-01-02/`.

    Raises:
        ExchangeError: when the file does not state its partition values.
    """
    names = [partition.name for partition in option.partitions]
    if set(output.partition) != set(names):
        msg = f"{output.uri} is in no partition by {', '.join(option.partition_by)}; clear the group that lists it"
        raise ExchangeError(msg)
    return "".join(f"{_folder(name, output.partition[name])}/" for name in names)


def partition_keys(files: Iterable[OutputFile], option: Sink) -> list[str]:
    """Return the partitions of files, sorted, as Hive names their folders: `day=2026-01-02/country=CH`."""
    if not isinstance(option, ColumnarSink) or not option.partition_by:
        return []
    return sorted({folder_of(file, option).rstrip("/") for file in files})


def check_partitions(files: Iterable[OutputFile], option: ColumnarSink, name: str) -> None:
    """Refuse a window with more partitions than an option allows.

    Raises:
        ProofError: with the number of partitions.
    """
    found = len({tuple(file.partition.items()) for file in files})
    if found > option.max_partitions:
        msg = f"{name}: a window has {found:,} partitions; {_advice(option)}"
        raise ProofError(msg)


def whole_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema of the rows in a file from the file's schema, whose metadata has the partition columns."""
    dropped = (schema.metadata or {}).get(_DROPPED)
    left = list(schema.remove_metadata())
    return pa.schema([*left, *(pa.ipc.read_schema(pa.BufferReader(b64decode(dropped))) if dropped else ())])


class PartitionedWriter:
    """Writes each row to the file of its partition; memory and open files are bounded.

    Args:
        option: names the partition columns.
        make: returns a writer of one partition.
        schema: the schema of every batch, or None to take it from the first.
    """

    def __init__(self, option: ColumnarSink, make: Callable[[], ParquetWriter], schema: pa.Schema | None) -> None:
        self._option, self._make, self._schema = option, make, schema
        self._dropped = left_out(option)
        self._partitions: dict[tuple[str | None, ...], ParquetWriter] = {}
        self._seen: set[tuple[str | None, ...]] = set()
        self._files: list[OutputFile] = []
        self._done: list[ParquetWriter] = []

    def write(self, batch: pa.RecordBatch, block: int | None = None) -> None:
        """Write a batch to the files of its partitions.

        Raises:
            RowError: when a value cannot be the name of a partition.
            FunctionError: when there are more partitions than the option allows.
        """
        if self._schema is None:
            if problem := misnamed(batch.schema) or misarranged(batch.schema, self._option):
                raise FunctionError(problem)
            self._schema = batch.schema
        if isinstance(self._option, ParquetSink) and self._option.log and not self._seen:  # noted for `whole_schema`
            left_out = pa.schema([self._schema.field(name) for name in self._dropped])
            noted = {**(self._schema.metadata or {}), _DROPPED: b64encode(left_out.serialize())}
            self._schema = self._schema.with_metadata(noted)
        batch = conform(batch, self._schema)
        check_precision(batch)  # here a row's index in the batch is still known
        for values, rows in _split(batch, self._option.partitions):
            self._partition(values).write(rows.drop_columns(self._dropped) if self._dropped else rows, block)
        self._bound()

    def close(self) -> list[OutputFile]:
        """Finish all files and return them."""
        for values in list(self._partitions):
            self._finish(values)
        return self._files

    def abort(self) -> None:
        """Remove all files, whole or not."""
        for part in (*self._partitions.values(), *self._done):
            part.abort()

    def _partition(self, values: tuple[str | None, ...]) -> ParquetWriter:
        if values not in self._partitions:
            self._seen.add(values)
            if len(self._seen) > self._option.max_partitions:
                msg = f"a task has more than {self._option.max_partitions:,} partitions; {_advice(self._option)}"
                raise FunctionError(msg)
            self._partitions[values] = self._make()
        return self._partitions[values]

    def _bound(self) -> None:
        """Finish files while too much is held: the fullest ones first, then those open for the longest time."""
        held = {values: part.held_bytes for values, part in self._partitions.items()}
        while len(held) > 1 and sum(held.values()) > _HELD * self._option.row_group_bytes:
            fullest = max(held, key=held.__getitem__)
            del held[fullest]
            self._finish(fullest)
        for values in [values for values, part in self._partitions.items() if part.is_open][:-_OPEN]:
            self._finish(values)

    def _finish(self, values: tuple[str | None, ...]) -> None:
        part = self._partitions.pop(values)
        self._done.append(part)
        named = dict(zip((partition.name for partition in self._option.partitions), values, strict=True))
        self._files += [replace(file, partition=named) for file in part.close()]


def _split(
    batch: pa.RecordBatch, partitions: Sequence[Partition]
) -> Iterator[tuple[tuple[str | None, ...], pa.RecordBatch]]:
    """Yield each combination of values, as text, with its rows in their order."""
    if not batch.num_rows:
        return
    codes = np.zeros(batch.num_rows, np.int64)
    columns = [transforms.transformed(batch[partition.column], partition) for partition in partitions]
    for column in columns:
        encoded = column.dictionary_encode(null_encoding="encode")
        if codes.max() >= _MOST:
            codes = np.unique(codes, return_inverse=True)[1]
        codes = codes * len(encoded.dictionary) + np.asarray(encoded.indices)
    order: npt.NDArray[np.int64] = np.argsort(codes, kind="stable")
    starts = [0, *(np.flatnonzero(np.diff(codes[order])) + 1).tolist(), batch.num_rows]
    taken = batch if len(starts) == 2 else batch.take(pa.array(order))  # noqa: PLR2004 - one combination
    for start, end in pairwise(starts):
        row = int(order[start])
        values = (_shown(part, column[row], row) for part, column in zip(partitions, columns, strict=True))
        yield tuple(values), taken.slice(start, end - start)


def _shown(partition: Partition, value: pa.Scalar, row: int) -> str | None:
    try:
        text = _text(partition, value.as_py(), row)
    except OverflowError as error:
        msg = (
            f"column {partition.column!r} holds a time outside of the years 1 to 9999, which cannot name a partition;"
            " replace it in a function"
        )
        raise RowError(msg, row) from error
    if partition.is_plain and len(folder := _folder(partition.name, text).encode()) > _LONGEST:
        msg = f"the name of the folder {excerpt(folder)} is too long for a partition; partition by another column"
        raise RowError(msg, row)
    return text


def _text(partition: Partition, value: object, row: int) -> str | None:
    """Return a partition value as text, as tables and folders contain it."""
    if value is None:
        return None
    if isinstance(value, int) and not partition.is_plain:
        return transforms.as_text(partition, value)
    name, text = partition.column, text_of(value)
    if text in {"", HIVE_NULL}:
        found = f"the text {text}" if text else "an empty text"
        msg = f"column {name!r} holds {found}, which in a partition means null; replace it in a function"
        raise RowError(msg, row)
    return text


def text_of(value: object) -> str:
    """Return a value of a partition column as text, as logs of tables and names of folders contain it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, date) else str(value)


def _folder(name: str, value: str | None) -> str:
    return f"{_named(name)}={HIVE_NULL if value is None else _named(value)}"


def _named(text: str) -> str:
    return "".join(f"%{ord(character):02X}" if character in _ESCAPED else character for character in text)


def _advice(option: ColumnarSink) -> str:
    columns = ", ".join(option.partition_by)
    return f"choose columns of fewer values than {columns}, or raise max_partitions ({option.max_partitions:,})"
