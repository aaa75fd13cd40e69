"""The column statistics of a file, with which a table's readers skip files, and which columns tables can hold."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from airflow_provider_blockread.sinks.plain import alike_fields, every_field

_COLUMNS = 32  # of a file whose statistics are kept, as in Delta Lake
_LONGEST = 64  # characters of a text whose bounds are kept
_HELD = (
    pa.types.is_boolean,
    pa.types.is_signed_integer,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_date32,
    pa.types.is_timestamp,
    pa.types.is_decimal128,
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_map,
    pa.types.is_struct,
)


def misfit(schema: pa.Schema) -> str:
    """Return the reason why a table cannot hold such rows, or an empty string if it can."""
    if two := alike_fields(schema):
        return f"tables do not distinguish columns {two[0]!r} and {two[1]!r}; rename one in the function"
    for field in schema:
        for inner in every_field((field,)):
            if not _is_held(inner.type):
                return (
                    f"column {field.name!r} has type {inner.type}, which tables do not hold; cast it in the function"
                    " (times to UTC), or declare another type"
                )
    return ""


def _is_held(kind: pa.DataType) -> bool:
    """Return whether tables can hold a type, as far as that does not depend on the types inside it."""
    if (pa.types.is_timestamp(kind) and kind.tz not in {None, "UTC"}) or (pa.types.is_decimal(kind) and kind.scale < 0):
        return False
    return any(is_of(kind) for is_of in _HELD)


def with_nan(table: pa.Table) -> Iterator[str]:
    """Yield the columns that hold a NaN, or infinities of both signs, whose sum is NaN too."""
    for field in table.schema:
        if pa.types.is_floating(field.type) and math.isnan(pc.sum(table[field.name]).as_py() or 0):
            yield field.name


def column_statistics(footer: pq.FileMetaData, unbounded: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return the minimum and maximum (`min`, `max`) and the number of nulls of each column, by name, as JSON values.

    A bound that JSON cannot hold exactly is left out.

    Args:
        footer: the file's footer.
        unbounded: columns with a NaN, which readers sort above all numbers, and the footer's bounds leave out.
    """
    found: dict[str, dict[str, Any]] = {"min": {}, "max": {}, "nulls": {}}
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    for place in range(min(footer.num_columns, _COLUMNS)):
        column = footer.schema.column(place)
        parts = [group.column(place).statistics for group in groups]
        if column.max_repetition_level or column.path != column.name or not all(parts):
            continue
        if all(part.has_null_count for part in parts):
            found["nulls"][column.name] = sum(part.null_count for part in parts)
        valued = [part for part in parts if part.has_min_max]
        if column.name not in unbounded and valued and len(valued) == sum(part.num_values > 0 for part in parts):
            bounds = _bounds(valued)
            if None not in bounds:
                found["min"][column.name], found["max"][column.name] = bounds
    return found


def _bounds(parts: list[pq.Statistics]) -> tuple[object, object]:
    try:
        return _json(min(part.min for part in parts)), _json(max(part.max for part in parts))
    except OverflowError:  # a time outside of the years that Python supports
        return None, None


def _json(value: object) -> object:
    """Return a bound as the log of a Delta table contains it, or None if that would not be exact."""
    if isinstance(value, datetime):
        return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        return value if len(value) <= _LONGEST else None
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_number and not isinstance(value, (bool, Decimal)) else None
