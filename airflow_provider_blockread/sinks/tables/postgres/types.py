"""The column types of a PostgreSQL table for the types of rows, and which rows a table can hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import pyarrow as pa

from airflow_provider_blockread.sinks.tables.format import WINDOW

_LONGEST = 63  # bytes of a name; the server would truncate a longer one
_OF_SYSTEM = {"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"}  # columns that each table has
_ASK = "cast it in the function, or declare another type"

#: Types of rows, each with the column type that is created for it, and other types of existing columns that fit.
_TYPES: list[tuple[Callable[[pa.DataType], bool], str, tuple[str, ...]]] = [
    (pa.types.is_boolean, "boolean", ()),
    (pa.types.is_int8, "smallint", ("integer", "bigint")),
    (pa.types.is_int16, "smallint", ("integer", "bigint")),
    (pa.types.is_int32, "integer", ("bigint",)),
    (pa.types.is_int64, "bigint", ()),
    (pa.types.is_float32, "real", ("double precision",)),
    (pa.types.is_float64, "double precision", ()),
    (pa.types.is_string, "text", ("character varying",)),
    (pa.types.is_large_string, "text", ("character varying",)),
    (pa.types.is_binary, "bytea", ()),
    (pa.types.is_large_binary, "bytea", ()),
    (pa.types.is_date32, "date", ()),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is None, "timestamp without time zone", ()),
    (lambda kind: pa.types.is_timestamp(kind) and kind.tz is not None, "timestamp with time zone", ()),
]
#: The types in which rows are sent to columns that also accept narrower types, since the driver does not convert types.
_SENT = {"smallint": pa.int16(), "integer": pa.int32(), "bigint": pa.int64(), "double precision": pa.float64()}
_WIDER = {"smallint": ("integer", "bigint"), "integer": ("bigint",), "real": ("double precision",)}
_NUMERIC = re.compile(r"numeric\((\d+),(\d+)\)")
_LENGTH = re.compile(r"character varying\(\d+\)")  # a longer text is an error of the server
_HELD = {"numeric", *(name for _, made, others in _TYPES for name in (made, *others))}


def column_type(kind: pa.DataType) -> str | None:
    """Return the column type for values of a type, or None if no table can hold them."""
    if pa.types.is_decimal128(kind):
        return f"numeric({kind.precision},{kind.scale})" if 0 <= kind.scale <= kind.precision else None
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = None if pa.types.is_list(kind.value_type) else column_type(kind.value_type)
        return None if inner is None else f"{inner.partition('(')[0]}[]"
    return next((name for holds, name, _ in _TYPES if holds(kind)), None)


def misfit(schema: pa.Schema) -> str:
    """Return the reason why a PostgreSQL table cannot hold such rows, or an empty string if it can."""
    for field in schema:
        if field.name == WINDOW:
            return f"column {WINDOW!r} is reserved for the id of the row's window; rename it"
        if field.name in _OF_SYSTEM:
            return f"column {field.name!r} has the name of a column that PostgreSQL gives each table; rename it"
        if len(field.name.encode()) > _LONGEST:
            return f"column {field.name!r} has a name of more than {_LONGEST} bytes; rename it"
        if column_type(field.type) is None:
            return f"column {field.name!r} has type {field.type}, which PostgreSQL does not hold; {_ASK}"
    return ""


def fits(kind: pa.DataType, of_table: str) -> bool:
    """Return whether a column of an existing table holds all values of a type unchanged."""
    if pa.types.is_decimal128(kind) and (of_table == "numeric" or _has_digits(column_type(kind) or "", of_table)):
        return True
    names = {name for holds, made, others in _TYPES if holds(kind) for name in (made, *others)}
    return of_table in {*names, column_type(kind)} or ("text" in names and _LENGTH.fullmatch(of_table) is not None)


def takes_rows(of_table: str) -> bool:
    """Return whether a column of an existing table holds the values of any type of rows, or of lists of them."""
    inner = of_table.removesuffix("[]")
    return inner in _HELD or any(sized.fullmatch(inner) for sized in (_NUMERIC, _LENGTH))


def widens(of_table: str, kind: pa.DataType) -> bool:
    """Return whether the column type for these values can also hold all values of the table's column."""
    made = column_type(kind) or ""
    return made in _WIDER.get(of_table, ()) or _has_digits(of_table, made)


def _has_digits(narrow: str, wide: str) -> bool:
    """Return whether a numeric type can hold all numbers of another one."""
    found, wanted = _NUMERIC.fullmatch(wide), _NUMERIC.fullmatch(narrow)
    if found is None or wanted is None:
        return False
    (more, finer), (digits, scale) = map(int, found.groups()), map(int, wanted.groups())
    return finer >= scale and more - finer >= digits - scale


def sent(schema: pa.Schema, columns: Mapping[str, str]) -> pa.Schema:
    """Return the schema in which rows are sent to columns of these types."""
    return pa.schema([(field.name, _SENT.get(columns[field.name], field.type)) for field in schema])
