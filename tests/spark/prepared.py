"""Spark's daemon of Python workers, which has imported what workers import: `spark.python.daemon.module` names it.

A worker ends with each error, and after a minute without work; what takes its place would import pyarrow again. The
package itself, and modules of users, are still imported by the workers, from where the application puts them.
"""

from __future__ import annotations

import importlib

PREPARED = {"spark.python.daemon.module": "tests.spark.prepared", "spark.sql.shuffle.partitions": "2"}
"""Configuration of an application in the folder of this repository."""

_IMPORTED = (
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
