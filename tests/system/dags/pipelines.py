"""The DAGs of the system tests: one task group each, over a landing folder of its own, tiny Spark applications."""

from __future__ import annotations

import os
from pathlib import Path

from airflow.sdk import DAG

from airflow_provider_blockread.options import FileSource, ParquetSink, SparkJob, Splitting, Transform
from airflow_provider_blockread.task_group import BlockReadTaskGroup

FOLDER = Path(os.environ["SYSTEM_FOLDER"])
QUICK = {
    "spark.ui.enabled": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # a third less time to start
}
FUNCTIONS = Path(__file__).with_name("functions.py")

for name, function in {
    "plain": None,
    "mended": "functions:fail",
    "stopped": "functions:sleep",
    "slain": "functions:sleep",
}.items():
    with DAG(name, schedule=None):
        BlockReadTaskGroup(
            "logs",
            source=FileSource(f"{FOLDER}/{{{{ dag.dag_id }}}}/landing"),
            sink=ParquetSink(f"{FOLDER}/{{{{ dag.dag_id }}}}/lake"),
            transform=Transform(function=function, columns=["_file"]),
            splitting=Splitting(group_bytes=1),
            spark=SparkJob(master="local[1]", conf=QUICK, py_files=[str(FUNCTIONS)]),
        )
