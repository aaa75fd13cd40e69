"""Airflow's local settings: the scheduler imports what tasks import, once for all of the tasks that it forks.

Without this half of a task's processor time is spent on imports. What needs Airflow is imported by each task as ever,
as it can not be while Airflow reads its settings.
"""

from __future__ import annotations

import importlib
import sys

__all__: list[str] = []  # settings of Airflow's that change

if "scheduler" in sys.argv:
    for _name in (
        "airflow_provider_blockread.spark.bundle",
        "airflow_provider_blockread.steps.commit.lineage",
        "airflow_provider_blockread.steps.running",
        "airflow_provider_blockread.steps.watch.new_files",
        "airflow_provider_blockread.steps.watch.remote_work",
        "fsspec.implementations.local",
        "httpx",
        "psycopg",
        "pyarrow.dataset",
        "pyarrow.parquet",
    ):
        importlib.import_module(_name)
