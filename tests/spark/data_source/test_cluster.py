"""Executors in processes of their own, whose Python has pyspark and pyarrow, but not this package."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.cluster import QUICK

pytestmark = pytest.mark.spark

_SCRIPT = """
import sys
from pyspark.sql import SparkSession
from airflow_provider_blockread.spark import register

conf = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
conf |= {"spark.executor.memory": "512m", "spark.executor.extraJavaOptions": sys.argv[2]}
spark = SparkSession.builder.master("local-cluster[1,2,1024]").config(map=conf).getOrCreate()
register(spark)
register(spark)
read = spark.read.format("blockread").options(format="csv", header=True, block_size=4)
print("rows", [tuple(row) for row in read.load(sys.argv[1]).collect()])
spark.stop()
"""


def test_registering_sends_the_package(bare_python: str, tmp_path: Path) -> None:
    """The driver's process keeps it for executors that start later; registering twice is fine."""
    import pyspark

    (tmp_path / "a [1].csv").write_bytes(b'id,msg\n1,"a\nb"\n2,c\n')
    home = {"SPARK_HOME": str(Path(pyspark.__file__).parent), "PYSPARK_PYTHON": bare_python}
    answer = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(tmp_path), QUICK],
        capture_output=True,
        check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | home,
        text=True,
    )

    assert "rows [(1, 'a\\nb'), (2, 'c')]" in answer.stdout, answer.stderr
