"""Checks of what a driver needs on its host: Java, and PySpark with Spark in it, as its package installed it."""

from __future__ import annotations

import csv
import os
import shutil
from collections.abc import Mapping
from importlib.machinery import PathFinder
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from airflow_provider_blockread.errors import OptionsError

_OF_ITS_OWN = "python/pyspark/__init__.py"  # below SPARK_HOME, if Spark was not installed as a Python package

_WITH_SPARK = "pyspark.core"  # which pyspark-client lacks, as it lacks Spark itself


def require_java(environment: Mapping[str, str]) -> None:
    """Refuse an environment without `java` where Spark looks for it: in JAVA_HOME, or else on PATH.

    Raises:
        OptionsError: naming what to install.
    """
    home = environment.get("JAVA_HOME")
    if home and shutil.which("java", path=os.path.join(home, "bin")) is None:  # noqa: PTH118 - a search path
        msg = f"JAVA_HOME={home} has no bin/java: Spark needs Java 17 or newer; set it to a JRE, or unset JAVA_HOME"
        raise OptionsError(msg)
    if not home and shutil.which("java", path=environment.get("PATH", os.defpath)) is None:
        msg = (
            "Spark needs Java 17 or newer: install a JRE, or set JAVA_HOME; reads on a Spark Connect server, which"
            " `remote` names, need none here"
        )
        raise OptionsError(msg)


def require_spark() -> None:
    """Refuse a Python that cannot be Spark's driver: one without `pyspark`, or with `pyspark-client` alone.

    Raises:
        OptionsError: naming what to install.
    """
    package = find_spec("pyspark")
    if package is None or PathFinder.find_spec(_WITH_SPARK, package.submodule_search_locations) is None:
        msg = (
            "pyspark, which brings Spark, is not installed here: run `pip install 'airflow-provider-blockread[spark]'`;"
            " reads on a Spark Connect server, which `remote` names, need airflow-provider-blockread[connect] instead"
        )
        raise OptionsError(msg)


def require_pyspark(environment: Mapping[str, str]) -> None:
    """Refuse a `pyspark` whose files another package has replaced or removed.

    `pyspark-client`, which Airflow's Spark provider requires, contains the same files, possibly of another version. The
    package that is installed last overwrites the other's files, and removing one removes files of both. The sizes of
    Python files are compared with those that the package's installer has recorded.

    Args:
        environment: the variables of the driver; a Spark of SPARK_HOME brings its own files.

    Raises:
        OptionsError: naming a file, and the commands that restore it.
    """
    home = environment.get("SPARK_HOME")
    if home and (Path(home) / _OF_ITS_OWN).is_file():
        return
    try:
        installed = distribution("pyspark")
    except PackageNotFoundError:
        return
    # Not `installed.files`, which leaves out missing files.
    for name, _, size in csv.reader((installed.read_text("RECORD") or "").splitlines()):
        if not (name.startswith("pyspark/") and name.endswith(".py") and size):
            continue
        file = Path(str(installed.locate_file(name)))
        if not file.is_file() or file.stat().st_size != int(size):
            msg = (
                f"{name} does not belong to pyspark {installed.version}: pyspark-client holds the same files; run"
                " `pip uninstall -y pyspark-client`, then"
                f" `pip install --force-reinstall --no-deps pyspark=={installed.version}`"
            )
            raise OptionsError(msg)
