"""Calls the user's DataFrame function, or runs the query, and checks the result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.options import DataFrameFunction, FrameFunction, Sql
from airflow_provider_blockread.sinks.conform import difference, misnamed
from airflow_provider_blockread.spark.tasks.loading import load_function
from airflow_provider_blockread.spark.tasks.user_function import declared_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
    """Yield the result of a function or query for the records; the query's view exists until the body ends.

    Raises:
        FunctionError: when the function does not return a DataFrame, or stops Spark.
    """
    if isinstance(option, DataFrameFunction):
        frame = load_function(option.path)(records)
        if _is_stopped(records.sparkSession):
            msg = f"{option} stops Spark; leave out `spark.stop()`"
            raise FunctionError(msg)
        if not isinstance(frame, type(records)):
            msg = f"{option} returned {_name(type(frame))}: it must return a DataFrame of Spark, without `toPandas()`"
            raise FunctionError(msg)
        yield frame
    elif isinstance(option, Sql):
        records.createOrReplaceTempView(_VIEW)
        try:
            yield records.sparkSession.sql(option.query)
        finally:
            records.sparkSession.catalog.dropTempView(_VIEW)


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
    found = frame.limit(0).toArrow().schema.remove_metadata()  # the metadata only says that instants are in UTC
    declared = declared_schema(option)
    if declared is None:
        return found
    if what := difference(pa.RecordBatch.from_pylist([], schema=found), declared):
        msg = f"{option} does not return its declared schema: {what}; return these columns and types, or declare others"
        raise FunctionError(msg)
    return declared
