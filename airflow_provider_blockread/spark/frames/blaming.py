"""Errors of a DataFrame's jobs, each in one line: of this package, of the user's code, or of Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from airflow_provider_blockread.errors import BlockReadError, FunctionError, OptionsError
from airflow_provider_blockread.exchange.failures import from_text
from airflow_provider_blockread.exchange.model import ReadSpec
from airflow_provider_blockread.options import DataFrameFunction
from airflow_provider_blockread.spark.engines.protocol import SparkLostError
from airflow_provider_blockread.spark.engines.reporting import job_failed, raised_by
from airflow_provider_blockread.spark.engines.session import is_lost
from airflow_provider_blockread.spark.tasks.loading import load_function, place_in

_MAX_CHARS = 1000  # of an error's text
# Exceptions for Spark's own failures, such as a lost executor; other exceptions are about a query or a value.
_OF_SPARK = ("QueryExecutionException", "SparkConnectGrpcException", "SparkException", "UnknownException")


@contextmanager
def blamed(spec: ReadSpec, secret: str) -> Iterator[None]:
    """Raise an error of the body as an error of this package that names feed and window.

    `secret` is that with which tasks seal the errors of this package.

    Raises:
        OptionsError: when the function cannot be imported, or a DataFrame cannot have a column.
        FunctionError: when the function, its tasks or the query failed.
        SparkJobError: when Spark failed for another reason; a retry may succeed.
        SparkLostError: when Spark's JVM or server is gone.
    """
    try:
        yield
    except (FunctionError, OptionsError) as error:
        msg = f"{spec}: {error}"
        raise type(error)(msg) from error
    except BlockReadError:
        raise
    except (Exception, SystemExit) as error:
        if is_lost(error):
            raise SparkLostError(str(error)) from error
        raise from_text(str(error), secret) or _of_user(spec, error) or job_failed(error) from error


def _of_user(spec: ReadSpec, error: BaseException) -> FunctionError | None:
    """Return the error of the user's code, or None if Spark itself failed."""
    from pyspark.errors import PySparkException, PythonException

    kind, text = type(error), str(error).strip()
    if kind.__name__ in _OF_SPARK or kind.__module__.startswith("py4j."):  # which a client of Spark Connect lacks
        return None
    if isinstance(error, PythonException):
        what = raised_by(text) or text.rpartition("Python worker:\n")[2].partition("\n")[0]
    elif isinstance(error, PySparkException):  # the query plan and the JVM's stack follow the first line
        what = text.partition("\n")[0].strip().rstrip(";")
    else:
        what = f"{kind.__name__}: {error}".rstrip(": ")
    option = spec.options.function
    own = getattr(load_function(option.path), "__code__", None) if isinstance(option, DataFrameFunction) else None
    where = "" if own is None else place_in(own.co_filename, error)
    return FunctionError(f"{spec}: {option} fails: {what[:_MAX_CHARS]}{where}; correct it and clear the run")
