"""How columns are written as options request: the order of rows, encodings and codecs."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from airflow_provider_blockread.options import ColumnarSink, ParquetSink
from airflow_provider_blockread.sinks.columnar import transforms
from airflow_provider_blockread.sinks.columnar.sorting import has_order
from airflow_provider_blockread.sinks.plain import alike_fields, every_field


def misarranged(schema: pa.Schema, option: ColumnarSink) -> str:
    """Return the reason why rows cannot be arranged as an option requests, or an empty string if they can."""
    if isinstance(option, ParquetSink) and (problem := _unread(schema)):
        return problem
    for partition in option.partitions:
        if schema.get_field_index(partition.column) < 0:
            shown = ", ".join(schema.names[:20])
            return f"there is no column {partition.column!r} to partition by; the columns are {shown}"
        if problem := transforms.misfit(schema.field(partition.column), partition):
            return problem
        if not partition.is_plain and partition.name in schema.names:
            return (
                f"a column is named {partition.name!r}, as the partition by {partition.transform} of"
                f" {partition.column!r} would be; rename the column"
            )
    if not set(schema.names).difference(option.partition_by):
        return "all columns are partition columns; leave one for the rows"
    asked = [(name, column) for name in ("sort_by", "encodings", "codecs") for column in getattr(option, name)]
    return next(filter(None, (_misplaced(name, column, schema, option) for name, column in asked)), "")


def _unread(schema: pa.Schema) -> str:
    """Return the reason why readers of a directory cannot use a column, or an empty string; tables check their own."""
    if two := alike_fields(schema):
        return (
            f"Spark does not distinguish columns {two[0]!r} and {two[1]!r}, and reads no file that has both; rename one"
            " in the function or schema"
        )
    for field in schema:
        if any(pa.types.is_null(inner.type) for inner in every_field((field,))):
            return (
                f"column {field.name!r} has type {field.type}, which Parquet files hold as if it were a number; cast it"
                " in the function"
            )
    return ""


def left_out(option: ColumnarSink) -> list[str]:
    """Return the columns that files leave out, since the names of their folders contain the values."""
    return list(option.partition_by) if isinstance(option, ParquetSink) else []


def _misplaced(name: str, column: str, schema: pa.Schema, option: ColumnarSink) -> str:
    """Return the reason why a column cannot be in an option, or an empty string if it can."""
    if column not in schema.names:
        return f"there is no column {column!r} for {name}; the columns are {', '.join(schema.names[:20])}"
    kind = schema.field(column).type
    if name == "sort_by":
        return "" if has_order(kind) else f"column {column!r} is {kind}, which has no order; leave it out of sort_by"
    if column in left_out(option):
        return f"column {column!r} of {name} is in the names of folders, not in files; leave it out"
    if name == "encodings" and not _can_encode(kind, wanted := option.encodings[column]):
        return f"column {column!r} is {kind}, which {wanted} does not encode; leave it out of encodings"
    return ""


def sort_columns(option: ColumnarSink) -> list[str]:
    """Return the columns by which the rows of a file are sorted: those whose values differ within a file."""
    alike = {partition.column for partition in option.partitions if partition.is_plain}
    return [name for name in option.sort_by if name not in alike]


def compression(schema: pa.Schema, option: ColumnarSink) -> str | dict[str, str]:
    """Return the codec of all columns, or of each one by its path."""
    if not option.codecs:
        return option.compression
    empty = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), empty)
    made = pq.read_metadata(pa.BufferReader(empty.getvalue())).schema
    paths = [made.column(place).path for place in range(len(made))]
    return {path: option.codecs.get(path, _of_nested(path, option)) for path in paths}


def _of_nested(path: str, option: ColumnarSink) -> str:
    return next((codec for name, codec in option.codecs.items() if path.startswith(f"{name}.")), option.compression)


def _can_encode(kind: pa.DataType, encoding: str) -> bool:
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        return False
    others = None if encoding == "dictionary" else {"c": encoding.upper()}
    try:
        rows = pa.table({"c": pa.nulls(1, kind)})
        pq.write_table(rows, pa.BufferOutputStream(), use_dictionary=others is None, column_encoding=others)
    except (pa.ArrowException, OSError):
        return False
    return True
