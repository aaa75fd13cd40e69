"""Columns as readers of Parquet files have them: without Arrow's variants of a type, or the case of names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

_PLAIN: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.DataType], pa.DataType]], ...] = (
    (pa.types.is_timestamp, lambda kind: pa.timestamp("us", kind.tz)),
    (pa.types.is_time32, lambda _: pa.time32("ms")),
    (pa.types.is_date64, lambda _: pa.date32()),
    (pa.types.is_dictionary, lambda kind: plain(kind.value_type)),
    (pa.types.is_struct, lambda kind: pa.struct([pa.field(field.name, plain(field.type)) for field in kind])),
    (pa.types.is_map, lambda kind: pa.map_(plain(kind.key_type), plain(kind.item_type))),
    (pa.types.is_list, lambda kind: pa.list_(plain(kind.value_type))),
    (pa.types.is_large_list, lambda kind: pa.list_(plain(kind.value_type))),
    (pa.types.is_fixed_size_list, lambda kind: pa.list_(plain(kind.value_type))),
    (pa.types.is_large_string, lambda _: pa.string()),
    (pa.types.is_string_view, lambda _: pa.string()),
    (pa.types.is_large_binary, lambda _: pa.binary()),
    (pa.types.is_binary_view, lambda _: pa.binary()),
)


def plain(kind: pa.DataType) -> pa.DataType:
    """Return a type as a Parquet file has it: in units that Spark reads, without Arrow's in-memory variants."""
    return next((make(kind) for holds, make in _PLAIN if holds(kind)), kind)


def nullable(field: pa.Field) -> pa.Field:
    """Return a field that may be null, as may all those inside it but the keys of maps."""
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([nullable(inner) for inner in kind])
    elif pa.types.is_map(kind):
        kind = pa.map_(kind.key_field, nullable(kind.item_field))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = pa.list_(nullable(kind.value_field))
    return field.with_type(kind).with_nullable(True)  # noqa: FBT003 - Arrow's


def holds(table: pa.DataType, rows: pa.DataType) -> bool:
    """Return whether a table's type holds all values of another, with null in them only where its own may have it."""
    if plain(table) != plain(rows):
        return False
    pairs = zip(*(every_field([pa.field("", kind)]) for kind in (table, rows)), strict=True)
    return all(ours.nullable or not theirs.nullable for ours, theirs in pairs)


def every_field(fields: Iterable[pa.Field]) -> Iterator[pa.Field]:
    """Yield all fields, each before those inside its type."""
    for field in fields:
        yield field
        kind = field.type
        if pa.types.is_struct(kind):
            yield from every_field(kind)
        elif pa.types.is_map(kind):
            yield from every_field((kind.key_field, kind.item_field))
        elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
            yield from every_field((kind.value_field,))


def alike(names: Iterable[str]) -> tuple[str, str] | None:
    """Return the first two names that are equal or differ only by case, or None."""
    seen: dict[str, str] = {}
    for name in names:
        if (key := name.lower()) in seen:
            return seen[key], name
        seen[key] = name
    return None


def alike_fields(schema: pa.Schema) -> tuple[str, str] | None:
    """Return the first two columns, or fields of one struct in them, whose names are alike, or None."""
    structs = (field.type for field in every_field(schema) if pa.types.is_struct(field.type))
    names = (schema.names, *([field.name for field in struct] for struct in structs))
    return next(filter(None, map(alike, names)), None)
