"""Batches as a writer needs them: with one schema, and without references to memory other than their own rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import FunctionError, RowError

_SHOWN = 50  # columns in a message
_PINNED = 4  # largest multiple of its own bytes that a batch may keep alive in its parent's buffers
_LISTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Field, pa.DataType], pa.DataType]], ...] = (
    (pa.types.is_list, lambda item, _: pa.list_(item)),
    (pa.types.is_large_list, lambda item, _: pa.large_list(item)),
    (pa.types.is_fixed_size_list, lambda item, kind: pa.list_(item, kind.list_size)),
)


def misnamed(schema: pa.Schema) -> str:
    """Return the reason why no output can have such columns, or an empty string if their names are distinct."""
    names = schema.names
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if names and not twice:
        return ""
    what = f"two columns named {twice[0]!r}" if twice else "no columns"
    return f"a batch has {what}; return batches with distinct columns from the function"


def check_precision(batch: pa.RecordBatch) -> None:
    """Refuse instants that are finer than a microsecond, which Spark does not read from Parquet files.

    Raises:
        RowError: naming the column and the value.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            kept = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(column.type)
            row = pc.index(pc.not_equal(column, kept), value=True).as_py()
            if row >= 0:
                msg = (
                    f"column {name!r} holds {column[row].cast(pa.string())}, and files hold microseconds; declare it as"
                    " timestamp, or cast it in the function"
                )
                raise RowError(msg, row)


def refuse_nul(batch: pa.RecordBatch, who: str) -> None:
    """Refuse a NUL in a text, or in a list of texts.

    Args:
        batch: rows.
        who: who do not take it, with the verb, for the message.

    Raises:
        RowError: naming the column.
    """
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
        texts = column.flatten() if is_list else column
        if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
            place = pc.index(pc.match_substring(texts, "\0"), value=True).as_py()
            if place >= 0:
                msg = f"column {name!r} holds a NUL, which {who} not take in text; replace it in a function"
                raise RowError(msg, _row_of(column, place) if is_list else place)


def _row_of(lists: pa.Array, place: int) -> int:
    """Return which list holds the value at a place of all their values."""
    ends = np.cumsum(pc.list_value_length(lists).fill_null(0))
    return int(np.searchsorted(ends, place, side="right"))


def without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with texts and bytes in place of views of them, which few functions of Arrow accept."""
    fields = [field.with_type(rebuilt(field.type, _viewed)) for field in batch.schema]
    schema = pa.schema(fields, batch.schema.metadata)
    return batch if schema == batch.schema else batch.cast(schema)


def _viewed(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_binary_view(kind) else kind


def rebuilt(kind: pa.DataType, make: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """Return a type with what is made of each type that has no others in it."""
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(rebuilt(field.type, make)) for field in kind])
    if pa.types.is_map(kind):
        return pa.map_(rebuilt(kind.key_type, make), rebuilt(kind.item_type, make))
    nests = next((nests for is_list, nests in _LISTS if is_list(kind)), None)
    return make(kind) if nests is None else nests(kind.value_field.with_type(rebuilt(kind.value_type, make)), kind)


def conform(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return the batch with this schema; names, order and types must be the same, but metadata may differ.

    Raises:
        FunctionError: naming the first column that differs.
    """
    if batch.schema.equals(schema, check_metadata=True):
        return batch
    if what := difference(batch, schema):
        msg = (
            f"a batch does not have the output's schema: {what}; return these columns and types at every call, or"
            " declare the ones that you return"
        )
        raise FunctionError(msg)
    return pa.RecordBatch.from_arrays(batch.columns, schema=schema)


def difference(batch: pa.RecordBatch, schema: pa.Schema) -> str:
    """Return the first difference between a batch and a schema, in words, or an empty string if there is none."""
    found, wanted = batch.schema.names, schema.names
    if missing := set(wanted).difference(found):
        return f"column {next(name for name in wanted if name in missing)!r} is missing"
    if extra := set(found).difference(wanted):
        return f"column {next(name for name in found if name in extra)!r} is not in it"
    if found != wanted:
        return f"columns come as {', '.join(found[:_SHOWN])} instead of {', '.join(wanted[:_SHOWN])}"
    for field, column in zip(schema, batch.columns, strict=True):
        if column.type != field.type:
            return f"column {field.name!r} is {column.type} instead of {field.type}"
        if column.null_count and not field.nullable:
            return f"column {field.name!r} holds nulls, which it must not"
    return ""


def owned(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch, copied if it is a small slice: otherwise a few rows would keep their whole source in memory."""
    if batch.get_total_buffer_size() <= _PINNED * batch.nbytes:
        return batch
    copy = pa.BufferOutputStream()
    with pa.ipc.new_stream(copy, batch.schema) as stream:
        stream.write_batch(batch)
    return pa.ipc.open_stream(copy.getvalue()).read_next_batch()
