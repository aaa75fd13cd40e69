"""Converts rows to values, whose fields have the names of columns, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from types import MappingProxyType
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Row, Select, Table, and_, select

from airflow_provider_blockread.blocks import BlockGroup, FileVersion
from airflow_provider_blockread.ledger.model import Generation, Group, GroupRef, Window
from airflow_provider_blockread.ledger.schema.tables import feeds, windows
from airflow_provider_blockread.proof.model import Sums

#: Windows beside their feeds, as `window_from` needs them.
WINDOWS: Select[Any] = select(*windows.c, feeds.c.name.label("feed")).join(feeds)

V = TypeVar("V")
_NONE: Mapping[str, object] = MappingProxyType({})


def value_from(kind: type[V], row: object, others: Mapping[str, object] = _NONE) -> V:
    """Return a value of a dataclass: the fields in `others`, and the rest from a row or another value."""
    names = _names(kind)  # type: ignore[arg-type]
    return kind(**{name: getattr(row, name) for name in names if name not in others}, **others)


@cache
def _names(kind: type[Any]) -> tuple[str, ...]:
    """Return the names of a dataclass's fields, kept since a page may show 20,000 groups, and `fields` is slow."""
    return tuple(field.name for field in fields(kind))


def row_from(value: object) -> dict[str, object]:
    """Return the columns of a dataclass's value; the contents of its fields are not copied."""
    return {field.name: getattr(value, field.name) for field in fields(value)}  # type: ignore[arg-type]


def window_from(row: Row[Any]) -> Window:
    """Return the window of a row of `WINDOWS`."""
    return value_from(Window, row, {"plan_hash": row.manifest_hash})


def generation_from(row: Row[Any]) -> Generation:
    """Return the generation of a row of `generations`."""
    return value_from(Generation, row, {"window": row.window_id, "sums": value_from(Sums, row)})


def group_from(row: Row[Any]) -> Group:
    """Return the group of a row of `groups`."""
    ref = GroupRef(window=row.window_id, generation=row.generation, group=row.number)
    return value_from(Group, row, {"ref": ref, "planned": value_from(BlockGroup, row), "bytes": row.read_bytes})


def in_generation(table: Table, window_id: str, generation: int) -> ColumnElement[bool]:
    """Return the condition that a row, such as a group or an output, belongs to this generation."""
    return and_(table.c.window_id == window_id, table.c.generation == generation)


def version_from(row: Row[Any]) -> FileVersion:
    """Return the version of a row of `files`."""
    return FileVersion(path=row.path, size=row.size, mtime_ns=row.mtime_ns, etag=row.etag)
