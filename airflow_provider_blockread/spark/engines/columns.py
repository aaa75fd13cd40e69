"""The columns of a DataFrame in Arrow's and in Spark's types, whatever the settings of its session say."""

from __future__ import annotations

import re
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_OPAQUE = re.compile(r'"(?:type|elementType|valueType)":"(variant|geometry|geography)\b')


def in_spark(schema: pa.Schema) -> StructType:
    """Return the columns in Spark's types; in text, `timestamp` would be what `spark.sql.timestampType` says."""
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def opaque_type(schema: StructType) -> str | None:
    """Return a type that a column is of or contains, and that Arrow would hold as a struct of its parts; else None."""
    found = _OPAQUE.search(schema.json())
    return found and found[1]


def in_arrow(schema: StructType) -> pa.Schema:
    """Return the columns in Arrow's types, with instants in UTC; a struct has each name once."""
    from pyspark.sql.pandas.types import to_arrow_schema

    # Spark 4.0 always uses UTC.
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, error_on_duplicated_field_names_in_struct=True, **zone)
