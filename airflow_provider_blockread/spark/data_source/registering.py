"""Registers the data source with a session; its dependencies are imported only when it is called."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from airflow_provider_blockread.spark.engines.settings import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession, *, storage_options: Mapping[str, Mapping[str, object]] | None = None) -> None:
    """Add the format `blockread` to a session, classic or of Spark Connect: `spark.read.format("blockread")`.

    Python workers that may run on other machines are sent this package. They need numpy and pyarrow, and the packages
    of the stores.

    Args:
        spark: the session.
        storage_options: root URI -> fsspec storage options for everything below it. They are sent with the code of the
            data source, so that they are in no option, plan or log. Default: the ambient identity of the workers.
    """
    from airflow_provider_blockread.spark.data_source.source import make_data_source  # noqa: PLC0415 - needs pyspark

    if ".connect." in type(spark).__module__:
        spark.addArtifacts(_bundle(), pyfile=True)
    elif not is_local(str(spark.sparkContext.master)):
        spark.sparkContext.addPyFile(_bundle())
    spark.dataSource.register(make_data_source(storage_options or {}))


@cache
def _bundle() -> str:
    """Return the path of a zip of this package, which executors fetch from this process during its lifetime."""
    from airflow_provider_blockread.spark.bundle import write_bundle  # noqa: PLC0415

    folder = tempfile.mkdtemp(prefix="blockread-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return write_bundle(folder)
