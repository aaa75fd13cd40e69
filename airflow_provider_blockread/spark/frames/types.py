"""The column types of records in a DataFrame."""

from __future__ import annotations

import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.sinks.plain import alike_fields

_SAME = (
    *(pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64()),
    *(pa.string(), pa.binary(), pa.date32()),
)
_LIKE = {kind: kind for kind in _SAME} | {
    pa.large_string(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.date64(): pa.date32(),
}
_COARSE = ("s", "ms", "us")  # units that fit into Spark's microseconds


def as_frame(schema: pa.Schema) -> pa.Schema:
    """Return the Arrow schema of a DataFrame that holds the values of records of a schema unchanged.

    Raises:
        OptionsError: when a DataFrame has no type for a column, or does not distinguish two of them.
    """
    if two := alike_fields(schema):
        msg = (
            f"a DataFrame does not distinguish columns {two[0]!r} and {two[1]!r}; rename one in the schema, or leave it"
            " out"
        )
        raise OptionsError(msg)
    return pa.schema([pa.field(field.name, _as_frame(field.type, field.name)) for field in schema])


def _as_frame(kind: pa.DataType, column: str) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_as_frame(kind.value_type, column))
    if pa.types.is_struct(kind):
        inner = [kind.field(index) for index in range(kind.num_fields)]
        return pa.struct([pa.field(field.name, _as_frame(field.type, column)) for field in inner])
    if pa.types.is_timestamp(kind) and kind.unit in _COARSE:
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if pa.types.is_decimal(kind):
        return kind
    if kind not in _LIKE:
        msg = (
            f"column {column!r} is of type {kind}, which a DataFrame does not have; declare another type in the schema"
        )
        raise OptionsError(msg)
    return _LIKE[kind]
