"""The column types of a Delta table for the types of rows."""

from __future__ import annotations

import pyarrow as pa
from deltalake import Field, Schema

from airflow_provider_blockread.sinks.plain import holds, nullable


def schema_of(schema: pa.Schema) -> Schema:
    """Return the columns of a table for those of rows; all may be null."""
    return Schema.from_arrow(pa.schema([nullable(field).remove_metadata() for field in schema]))


def fits(field: pa.Field, held: Field) -> bool:
    """Return whether a column holds all values of a field; no field has the type of a variant, which Arrow lacks."""
    known = pa.field(held)
    return holds(known.type, field.type) and Field.from_arrow(known).type == held.type
