"""Makes the helpers of the tests of records importable by plain names, as a user's module is."""

from __future__ import annotations

import logging
import os
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from airflow_provider_blockread.spark import register
from tests.servers import all as servers
from tests.servers.store import Store
from tests.spark.prepared import PREPARED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RECORDS = str(Path(__file__).parents[2] / "records")
if _RECORDS not in sys.path:
    sys.path.insert(0, _RECORDS)


@pytest.fixture(autouse=True)
def _errors_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the data source changes the environment of its worker, which is this process here."""
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")


@pytest.fixture(scope="session")
def moto() -> Iterator[Store]:
    """Yield an S3 server."""
    with servers.moto() as store:
        yield store


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Yield a session whose tasks have four attempts, and that knows the data source."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    conf = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    conf |= PREPARED | {"spark.python.unix.domain.socket.enabled": "true", "spark.sql.session.timeZone": "UTC"}
    session = SparkSession.builder.master("local[2,4]").appName("test").config(map=conf).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("py4j").setLevel(logging.ERROR)
    register(session)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a Python that finds the packages of this one, but not this repository."""
    folder = tmp_path_factory.mktemp("python")
    venv.create(folder)
    packages = Path(pa.__file__).parents[1]
    found = next((folder / "lib").glob("python*/site-packages"))
    (found / "others.pth").write_text(f"{packages}\n", encoding="utf-8")  # whose own .pth files are not followed
    return str(folder / "bin" / "python")
