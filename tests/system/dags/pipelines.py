"""The DAGs of the system tests: each with landing folder and output of its own, and tiny applications."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.sdk import DAG, CronDataIntervalTimetable, CronPartitionTimetable

from airflow_provider_blockread.decorators import blockread
from airflow_provider_blockread.options import (
    ArrowFunction,
    AsRead,
    FileSource,
    Limits,
    ParquetSink,
    Policies,
    Selection,
    SparkJob,
    Splitting,
)
from airflow_provider_blockread.sensors.new_files import NewFilesSensor
from airflow_provider_blockread.task_group import BlockReadTaskGroup

if TYPE_CHECKING:
    from pyarrow import RecordBatch

FOLDER = Path(os.environ["SYSTEM_FOLDER"])
DAY = datetime(2026, 1, 1, tzinfo=UTC)
FUNCTIONS = [str(Path(__file__).with_name("functions.py"))]
SPARK = SparkJob(
    master="local[1]",
    conf={
        "spark.ui.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # a third less time to start
    },
    py_files=FUNCTIONS,
)
QUICK = SparkJob(conn_id="quick", py_files=FUNCTIONS)  # the same work without Spark
STUBBORN = SparkJob(conn_id="stubborn", py_files=FUNCTIONS)  # the same, by a driver that outlives its task


def pipeline(dag: DAG, group_id: str = "logs", *, function: str | None = None, **options: Any) -> None:
    """Add a pipeline to a DAG, which names its folders."""
    given = {
        "source": FileSource(f"{FOLDER}/{dag.dag_id}/landing"),
        "sink": ParquetSink(f"{FOLDER}/{dag.dag_id}/lake"),
        "function": AsRead(columns=["_file"]) if function is None else ArrowFunction(function, columns=["_file"]),
        "splitting": Splitting(group_bytes=1),
        "spark": QUICK,
        "ledger_conn_id": "ledger",
    }
    with dag:
        BlockReadTaskGroup(group_id, **given | options)


def hourly(dag_id: str, *, catchup: bool = False, function: str | None = None, on_rerun: str = "rebuild") -> None:
    """Make a DAG of the first three hours of a day, over files whose names contain their hour."""
    schedule = CronDataIntervalTimetable("0 * * * *", timezone="UTC")
    pipeline(
        DAG(
            dag_id,
            schedule=schedule,
            start_date=DAY,
            end_date=DAY + timedelta(hours=2),
            catchup=catchup,
            max_active_runs=4,
            is_paused_upon_creation=catchup,
        ),
        function=function,
        source=FileSource(f"{FOLDER}/{dag_id}/landing", time_pattern="h%Y%m%d%H"),
        selection=Selection(select="interval"),
        policies=Policies(on_rerun=on_rerun),
    )


# One feed keeps its memory in AIRFLOW_HOME, as without any set-up; the others in PostgreSQL.
pipeline(DAG("plain", schedule=None), ledger_conn_id=None)
pipeline(DAG("fixed", schedule=None), function="functions:fail")
pipeline(DAG("shown", schedule=None), function="functions:fail")
pipeline(DAG("seen", schedule=None))
pipeline(DAG("again", schedule=None))
pipeline(DAG("stopped", schedule=None), function="functions:sleep", spark=SPARK)
pipeline(DAG("slain", schedule=None), function="functions:sleep", spark=SPARK)
pipeline(
    DAG("outlived", schedule=None, default_args={"retries": 1, "retry_delay": timedelta(0)}),
    function="functions:linger",
    spark=STUBBORN,
)

with DAG("decorated", schedule=None):

    @blockread(
        source=FileSource(f"{FOLDER}/decorated/landing"),
        sink=ParquetSink(f"{FOLDER}/decorated/lake"),
        splitting=Splitting(group_bytes=1),
        spark=QUICK,
        ledger_conn_id="ledger",
    )
    def logs(batch: RecordBatch, last: str = "1") -> RecordBatch:
        """Keep the lines that end in a digit."""
        import pyarrow.compute as pc

        return batch.filter(pc.ends_with(batch["value"], last))

    logs()

for name, arguments in {
    "deferred": {},
    "orphaned": {},
    "recleared": {},
    "marked": {},
    "late": {"execution_timeout": timedelta(seconds=60)},  # a busy machine reads the group in less
    "adopted": {"retries": 1, "retry_delay": timedelta(0)},
}.items():
    slow = {"spark.submit.seconds": "3600"} if name == "adopted" else {}  # of the stand-in, behind the submission
    pipeline(
        DAG(name, schedule=None, default_args=arguments),
        function="functions:hold",
        spark=SparkJob(conn_id="cluster", py_files=FUNCTIONS, heartbeat_s=1.0, conf=slow),
        deferrable=True,
    )

awaited = DAG("awaited", schedule=None)
pipeline(awaited, source=FileSource(f"{FOLDER}/awaited/landing", min_age=2))
NewFilesSensor(
    dag=awaited,
    task_id="arrived",
    source=FileSource(f"{FOLDER}/awaited/landing", min_age=2),
    group="logs",
    ledger_conn_id="ledger",
    deferrable=True,
    poke_interval=1,
) >> awaited.task_group.get_child_by_label("logs")

hourly("caught", catchup=True)
hourly("backfilled", function="functions:fail")
hourly("verified", on_rerun="verify")
hourly("skipped", on_rerun="skip")
pipeline(
    DAG(
        "partitioned",
        schedule=CronPartitionTimetable("0 0 * * *", timezone="UTC"),
        start_date=DAY,
        end_date=DAY,
        catchup=True,
        is_paused_upon_creation=True,
    )
)

shared = DAG(
    "shared", schedule=None, max_active_runs=2, default_args={"retries": 5, "retry_delay": timedelta(seconds=1)}
)
for side in ("left", "right"):
    pipeline(shared, side, feed="shared", selection=Selection(limits=Limits(max_files=2)))
