"""Calls the user's DataFrame function, or runs the query, and checks the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.options import DataFrameFunction, FrameFunction, Sql
from airflow_provider_blockread.sinks.conform import difference, misnamed
from airflow_provider_blockread.spark.engines.columns import in_arrow, opaque_type
from airflow_provider_blockread.spark.engines.session import is_lost
from airflow_provider_blockread.spark.tasks.loading import load_function
from airflow_provider_blockread.spark.tasks.user_function import declared_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField

_VIEW = "records"


def check_function(option: FrameFunction, empty: DataFrame) -> None:
    """Refuse a function that cannot be imported, or a query that Spark cannot resolve for an empty DataFrame."""
    if isinstance(option, DataFrameFunction):
        load_function(option.path)
    else:
        with applied(option, empty) as frame:
            output_schema(option, frame)


@contextmanager
def applied(option: FrameFunction, records: DataFrame) -> Iterator[DataFrame]:
    """Yield the result of a function or query for the records.

    Until the body ends, the query's view exists, and Spark keeps what the function caches of the records or its result.

    Raises:
        FunctionError: when the function does not return a DataFrame, or stops Spark.
    """
    if isinstance(option, DataFrameFunction):
        with _uncached_afterwards(records):
            frame = load_function(option.path)(records)
            if _is_stopped(records.sparkSession):
                msg = f"{option} stops Spark; leave out `spark.stop()`"
                raise FunctionError(msg)
            if not isinstance(frame, type(records)):
                what = _name(type(frame))
                msg = f"{option} returned {what}: it must return a DataFrame of Spark, without `toPandas()`"
                raise FunctionError(msg)
            with _uncached_afterwards(frame):
                yield frame
    elif isinstance(option, Sql):
        records.createOrReplaceTempView(_VIEW)
        try:
            yield records.sparkSession.sql(option.query)
        finally:
            records.sparkSession.catalog.dropTempView(_VIEW)


@contextmanager
def _uncached_afterwards(frame: DataFrame) -> Iterator[None]:
    """Drop a DataFrame from Spark's cache after the body: one session reads many windows."""
    is_there = True  # otherwise a call would wait for the server to come back
    try:
        yield
    except Exception as error:
        is_there = not is_lost(error)
        raise
    finally:
        if is_there:
            with suppress(Exception):  # the function may have stopped Spark
                frame.unpersist()


def _name(kind: type) -> str:
    """Return a type's name with its package, unless it is built in: pandas has a `DataFrame`, too."""
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"


def _is_stopped(session: Any) -> bool:  # noqa: ANN401 - of Spark Connect, or the classic one
    return bool(session.is_stopped if hasattr(session, "is_stopped") else session._sc._jsc is None)  # noqa: SLF001


def output_schema(option: FrameFunction, frame: DataFrame) -> pa.Schema:
    """Return the schema of the rows to write: the declared one, or that of the DataFrame.

    Raises:
        FunctionError: when the DataFrame differs from the declared schema, or no table can have its schema.
    """
    if problem := misnamed(pa.schema([(name, pa.null()) for name in frame.columns])):
        raise FunctionError(problem)
    found = pa.schema(map(_in_arrow, frame.schema.fields))
    declared = declared_schema(option)
    if declared is None:
        return found
    fields = {field.name: field for field in declared}
    widened = pa.schema([_widened(field, fields.get(field.name, field)) for field in found])
    if what := difference(pa.RecordBatch.from_pylist([], schema=widened), declared):
        msg = f"{option} does not return its declared schema: {what}; return these columns and types, or declare others"
        raise FunctionError(msg)
    return declared


def _in_arrow(column: StructField) -> pa.Field:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    schema, why = StructType([column]), ""
    try:
        if opaque_type(schema) is None:
            return in_arrow(schema).field(0)
    except (PySparkException, ValueError) as error:
        why = f" ({error})"
    kind = column.dataType.simpleString()
    msg = f"column {column.name!r} is of type {kind}, which no output holds{why}; cast it in the function"
    raise FunctionError(msg)


def _widened(found: pa.Field, declared: pa.Field) -> pa.Field:
    """Return a field in which all may be null that may be null in the declared one: Spark often knows of no nulls."""
    kind, wanted = found.type, declared.type
    if pa.types.is_list(kind) and pa.types.is_list(wanted):
        kind = pa.list_(_widened(kind.value_field, wanted.value_field))
    elif pa.types.is_struct(kind) and pa.types.is_struct(wanted) and kind.num_fields == wanted.num_fields:
        kind = pa.struct(list(map(_widened, kind, wanted)))
    return pa.field(found.name, kind, nullable=found.nullable or declared.nullable)
