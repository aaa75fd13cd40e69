"""Spark's daemon of Python workers, which has imported what workers import: `spark.python.daemon.module` names it.

A worker ends with each error, and after a minute without work; what takes its place would import pyarrow and the
package again. Modules of users are still imported by the workers. Applications without this daemon, such as those on
clusters, import the package from where they put it.
"""

from __future__ import annotations

import importlib

PREPARED = {"spark.python.daemon.module": "tests.spark.prepared", "spark.sql.shuffle.partitions": "2"}
"""Configuration of an application in the folder of this repository."""

_IMPORTED = (
    "airflow_provider_blockread.spark.data_source.reading",
    "airflow_provider_blockread.spark.driver",
    "airflow_provider_blockread.spark.engines.rdd",
    "fsspec",
    "pandas",  # by pyarrow, with the first array
    "pyarrow.compute",
    "pyarrow.parquet",
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyspark.sql.types",
)

if __name__ == "__main__":
    for name in _IMPORTED:
        importlib.import_module(name)
    from pyspark.daemon import manager

    manager()
