"""The column types of an Iceberg table for the types of rows, and which types can be widened to others."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.io.pyarrow import pyarrow_to_schema, schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import DecimalType, IcebergType

from airflow_provider_blockread.sinks.columnar.field_ids import without_ids
from airflow_provider_blockread.sinks.plain import holds


def fits(field: pa.Field, table: Schema, of_table: IcebergType) -> bool:
    """Return whether a table's column holds all values of a field unchanged; files may be narrower than their table."""
    held = column_type(field, table)
    return held is not None and (widens(held, of_table) or holds(schema_to_pyarrow(of_table), schema_to_pyarrow(held)))


def column_type(field: pa.Field, table: Schema) -> IcebergType | None:
    """Return the Iceberg type of a field, or None if a nested field is not in the table."""
    try:
        by_name = without_ids(pa.schema([field]))
        # Files have microseconds.
        found = pyarrow_to_schema(by_name, table.name_mapping, downcast_ns_timestamp_to_us=True)
        return found.fields[0].field_type
    except ValueError:
        return None


def widens(narrow: IcebergType, wide: IcebergType | None) -> bool:
    """Return whether Iceberg allows a column to be widened from one type to the other."""
    if isinstance(narrow, DecimalType) and isinstance(wide, DecimalType):
        return narrow.scale == wide.scale and narrow.precision < wide.precision
    return (str(narrow), str(wide)) in {("int", "long"), ("float", "double")}
