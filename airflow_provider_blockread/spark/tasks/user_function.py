"""Calls the user's function on batches with the columns that it requested; errors name the record."""

from __future__ import annotations

import traceback
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.errors import FunctionError, OptionsError
from airflow_provider_blockread.options import ArrowFunction, AsRead, FunctionOption
from airflow_provider_blockread.options.functions import PythonFunction
from airflow_provider_blockread.records.columns.schema import parse_schema
from airflow_provider_blockread.sinks.conform import without_views
from airflow_provider_blockread.spark.tasks.block_reader import Rows
from airflow_provider_blockread.spark.tasks.loading import load_function, place_in

#: The types of the columns that say where a record is.
PLACE_TYPES = {"_file": pa.string(), "_block": pa.int64(), "_offset": pa.int64()}


def known_schema(option: FunctionOption, schema: pa.Schema) -> pa.Schema | None:
    """Return the schema of the output for records of a schema, or None if only the function knows it."""
    if isinstance(option, AsRead):
        return with_places(option, schema)
    return declared_schema(option)


def declared_schema(option: FunctionOption) -> pa.Schema | None:
    """Return the schema that an option declares for its function's output, or None if it does not declare one."""
    text = option.schema if isinstance(option, PythonFunction) else None
    return None if text is None else parse_schema(text)


def with_places(option: FunctionOption, schema: pa.Schema) -> pa.Schema:
    """Return the schema of records with the place columns that the option requests.

    Raises:
        OptionsError: when the records have a column of that name.
    """
    taken = [name for name in option.columns if name in schema.names]
    if taken:
        msg = f"columns has {taken[0]!r}, but the records have a column of that name; leave it out of columns"
        raise OptionsError(msg)
    return pa.schema([*schema, *(pa.field(name, PLACE_TYPES[name]) for name in option.columns)])


def place_column(name: str, rows: Rows) -> pa.Array:
    """Return the column `_file`, `_block` or `_offset` of the rows."""
    if name == "_offset":
        return pa.array(rows.offsets, pa.int64())
    values = [block.version.path if name == "_file" else block.number for block in rows.blocks]
    return repeated(pa.array(values, PLACE_TYPES[name]), rows)


def repeated(values: pa.Array, rows: Rows) -> pa.Array:
    """Return a column of the rows from a value for each of their blocks."""
    return values.take(pa.array(np.repeat(np.arange(len(values)), rows.counts)))


class UserFunction:
    """Adds the requested place columns, and calls an `ArrowFunction` with the batch."""

    def __init__(self, option: FunctionOption, schema: pa.Schema) -> None:
        """Load the function; `schema` is that of the decoded records."""
        self._option = option
        self._function: Callable[[pa.RecordBatch], pa.RecordBatch | None] | None = None
        self.schema = known_schema(option, schema)
        if isinstance(option, ArrowFunction):
            self._function = load_function(option.path)

    def __call__(self, rows: Rows) -> pa.RecordBatch | None:
        """Return the function's result for a batch, or None if it keeps no row; a function gets rows of one block only.

        Raises:
            FunctionError: when the function raises, with the record if a single one causes it, or returns another type.
        """
        batch = self._with_places(rows)
        if self._function is None:
            return batch
        try:
            answer = self._function(batch)
        except Exception as error:
            raise self._blame(rows, batch, error) from error
        if answer is not None and not isinstance(answer, pa.RecordBatch):
            msg = f"{self._option} returned {type(answer).__name__}: it must return a RecordBatch or None"
            raise FunctionError(msg)
        return None if answer is None else without_views(answer)

    def _with_places(self, rows: Rows) -> pa.RecordBatch:
        batch = rows.batch
        for name in self._option.columns:
            batch = batch.append_column(name, place_column(name, rows))
        return batch

    def _blame(self, rows: Rows, batch: pa.RecordBatch, error: Exception) -> FunctionError:
        """Return an error that names the first record that fails on its own, or the smallest failing part found."""
        first, count = 0, batch.num_rows
        while count > 1:
            half = count // 2
            for begin, size in ((first, half), (first + half, count - half)):
                if (again := self._raised(batch.slice(begin, size))) is not None:
                    first, count, error = begin, size, again
                    break
            else:
                break
        _, *frames = traceback.extract_tb(error.__traceback__)  # the first is ours
        at = place_in(frames[0].filename, error) if frames else ""  # the last place in the function's own file
        place = f"byte {rows.offsets[first]}"
        where = f"the record at {place}" if count == 1 else f"the batch of {count} records from {place} on"
        return FunctionError(
            f"{self._option} raised {type(error).__name__}: {error}{at} on {where} of {rows.blocks[0]};"
            " correct the function and clear the run"
        )

    def _raised(self, batch: pa.RecordBatch) -> Exception | None:
        try:
            self._function(batch)  # type: ignore[misc]
        except Exception as error:  # noqa: BLE001 - whatever the user's code raises
            return error
        return None
