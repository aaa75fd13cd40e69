"""Spark contexts of applications that spark-submit started, of processes that start Spark themselves, and of tasks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow_provider_blockread.spark.engines.settings import (
    CLASSIC,
    guarding,
    has_own_logging,
    is_local,
    silence,
    sized,
)

if TYPE_CHECKING:
    from pyspark import SparkContext

_PYTHON = "spark.pyspark.python"
_HERE = CLASSIC | {"spark.submit.deployMode": "client"}  # of a driver in this process, whatever the defaults say


def quiet_session() -> None:
    """Keep pyspark from printing the errors that it raises, with a stack, and a warning about newer pandas."""
    from pyspark import util  # noqa: PLC0415 - comes with Spark's SQL
    from pyspark.logger import PySparkLogger  # noqa: PLC0415

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True
    util.print_exec = lambda stream: None  # noqa: ARG005 - for a function that cannot be pickled
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)


def attempt_id() -> int:
    """Return the id of the task attempt in which this runs; no other attempt of the application has it."""
    from pyspark import TaskContext  # noqa: PLC0415 - only a task has one

    context = TaskContext.get()
    return context.taskAttemptId() if context else 0


def start_context(
    master: str, conf: Mapping[str, str], defaults: dict[str, str], *, readers: int | None = None
) -> SparkContext:
    """Return a Spark context of this process, without a session of Spark SQL, which takes seconds to start.

    `conf` takes precedence over the user's `spark-defaults.conf`, which takes precedence over `defaults` and the
    settings derived from `readers`. Tasks run in the Python of PYSPARK_PYTHON, unless `spark.pyspark.python` names
    another.
    """
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415

    given = [("spark.master", master), ("spark.app.name", "blockread"), *conf.items(), *_HERE.items()]
    SparkContext._ensure_initialized(conf=SparkConf().setAll(given))  # noqa: SLF001 - a JVM reads the user's defaults
    settings = SparkConf().setAll(given)
    python = conf.get(_PYTHON) if is_local(master) else settings.get(_PYTHON)
    if python:  # spark-submit does the same; the user's defaults may name a Python that is on clusters only
        os.environ["PYSPARK_PYTHON"] = python
    for key, value in (defaults | sized(master, readers, dict(settings.getAll()))).items():
        settings.setIfMissing(key, value)
    return SparkContext.getOrCreate(settings)


def submitted_context(*, has_secrets: bool, readers: int | None = None) -> SparkContext:
    """Return the Spark context of this application; settings of the user or the cluster are kept."""
    from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - one is made only when this is an application
    from pyspark.java_gateway import launch_gateway  # noqa: PLC0415

    gateway = launch_gateway()  # type: ignore[no-untyped-call]
    conf = SparkConf(_jvm=gateway.jvm)
    master = conf.get("spark.master") or ""
    settings = guarding(master, has_secrets=has_secrets) | sized(master, readers, dict(conf.getAll()))
    quiet = conf.get("spark.submit.deployMode", "client") == "client" and not has_own_logging(gateway.jvm)
    if quiet:
        settings["spark.log.level"] = "WARN"
    for key, value in settings.items():
        conf.setIfMissing(key, value)
    context = SparkContext(conf=conf, gateway=gateway)
    if quiet:
        silence(gateway.jvm)
    return context
