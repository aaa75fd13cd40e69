"""Rules of a Delta table for its writers: those that cannot be checked in the files, and the types of columns."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from deltalake import DeltaTable, Field, Schema
from deltalake.exceptions import DeltaError
from deltalake.schema import PrimitiveType
from deltalake.transaction import create_table_with_add_actions

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.tables import COLUMN_MAPPING
from airflow_provider_blockread.sinks.plain import holds, nullable

_CONSTRAINT = "delta.constraints."
#: Keys of a field's metadata, and the kind of column that they declare.
_RULES = {
    "delta.invariants": "an invariant of",
    "delta.generationExpression": "the generated",
    "delta.identity.": "the identity",
}
_ANY = Schema.from_arrow(pa.schema([("x", pa.int64())]))


def unfollowed_rule(table: DeltaTable, name: str) -> str:
    """Return in words the rule of a table that files would not follow, or an empty string if there is none."""
    properties = table.metadata().configuration
    if ruled := sorted(key.removeprefix(_CONSTRAINT) for key in properties if key.startswith(_CONSTRAINT)):
        return f"{name} has a constraint {ruled[0]!r}, which a file cannot be checked against; drop the constraint"
    if properties.get(COLUMN_MAPPING, "none") != "none":
        return f"{name} uses column mapping, which files written here do not follow; choose another table"
    for field in table.schema().fields:
        for key, rule in _RULES.items():
            if any(found.startswith(key) for found in field.metadata):
                return f"{name} has {rule} column {field.name!r}, which files do not follow; choose another table"
    return ""


def check_properties(name: str, properties: Mapping[str, str]) -> None:
    """Refuse properties with which the library creates no table; it is tried in memory.

    Raises:
        OptionsError: naming the first one.
    """
    try:
        create_table_with_add_actions("memory:///", _ANY, [], "error", [], configuration=dict(properties))
    except (DeltaError, TypeError) as error:
        msg = f"{name}: deltalake cannot create a table with this property ({error}); correct properties"
        raise OptionsError(msg) from error


def schema_of(schema: pa.Schema) -> Schema:
    """Return the columns of a table for those of rows; all may be null."""
    return Schema.from_arrow(pa.schema([nullable(field).remove_metadata() for field in schema]))


def type_of(field: Field) -> str:
    """Return the type of a column in words: `long`, and nested ones as the library spells them."""
    return field.type.type if isinstance(field.type, PrimitiveType) else str(field.type)


def fits(field: pa.Field, held: Field) -> bool:
    """Return whether a column holds all values of a field; no field has the type of a variant, which Arrow lacks."""
    known = pa.field(held)
    return holds(known.type, field.type) and Field.from_arrow(known).type == held.type
