"""Iceberg's column ids in the schemas of files, by which readers find a column even if it was renamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any

import pyarrow as pa

from airflow_provider_blockread.exchange.model import FieldIds
from airflow_provider_blockread.sinks.plain import every_field

_KEY = b"PARQUET:field_id"  # in a field's metadata, as pyarrow writes and reads it

Path = tuple[str, ...]


def with_ids(schema: pa.Schema, table: FieldIds) -> pa.Schema:
    """Return the schema with the ids that a table gives its columns, or will give to new ones.

    A new table numbers all columns before the fields nested in them; when columns are added to a table, each is
    numbered together with its nested fields.
    """
    known, free = dict(_mapped(json.loads(table.mapping))), count(table.last + 1)
    number = lambda path: known[path] if path in known else next(free)  # noqa: E731 - short
    together = [list(schema)] if not known else [[field] for field in schema]
    fields = [numbered for fields in together for numbered in _numbered(fields, number)]
    return pa.schema(fields, schema.metadata)


def without_ids(schema: pa.Schema) -> pa.Schema:
    """Return the schema without any ids."""
    return pa.schema(_numbered(list(schema), lambda _: None))


def ids_of(schema: pa.Schema) -> list[int | None]:
    """Return the ids of all fields, at any depth, in the same order for schemas with the same columns."""
    return [
        None if (found := (field.metadata or {}).get(_KEY)) is None else int(found) for field in every_field(schema)
    ]


def _mapped(mapping: Sequence[Mapping[str, Any]], path: Path = ()) -> Iterator[tuple[Path, int]]:
    """Yield each path of a name mapping with its id."""
    for field in mapping:
        for name in field["names"]:
            if "field-id" in field:
                yield (*path, name), field["field-id"]
            yield from _mapped(field.get("fields", ()), (*path, name))


_Number = Callable[[Path], int | None]


def _numbered(
    fields: Sequence[pa.Field], number: _Number, path: Path = (), names: Sequence[str] = ()
) -> list[pa.Field]:
    """Return the fields at a path with their ids and those inside them; `names` are those in paths, if they differ."""
    paths = [(*path, name) for name in names or [field.name for field in fields]]
    numbered = [_named(field, number(path)) for field, path in zip(fields, paths, strict=True)]
    return [field.with_type(_kind(field.type, number, path)) for field, path in zip(numbered, paths, strict=True)]


def _kind(kind: pa.DataType, number: _Number, path: Path) -> pa.DataType:
    """Return a type with the ids of the fields inside it."""
    if pa.types.is_struct(kind):
        return pa.struct(_numbered(list(kind), number, path))
    if pa.types.is_map(kind):
        key, item = _numbered([kind.key_field, kind.item_field], number, path, ["key", "value"])
        return pa.map_(key, item, keys_sorted=kind.keys_sorted)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        (element,) = _numbered([kind.value_field], number, path, ["element"])
        return pa.list_(element) if pa.types.is_list(kind) else pa.large_list(element)
    return kind


def _named(field: pa.Field, number: int | None) -> pa.Field:
    others = {key: text for key, text in (field.metadata or {}).items() if key != _KEY}
    return field.with_metadata(others | ({} if number is None else {_KEY: str(number)}))
