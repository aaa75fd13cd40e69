"""Reads files of one bucket into another, in two ways: by spark-submit on a cluster, and on a Spark Connect server.

`docker-compose.yml` has all that it names: the connections `s3`, `spark_cluster` and `spark_connect`, and the buckets
`landing` and `lake`. The DAG is paused at first.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_provider_blockread.options import FileSource, JsonLines, ParquetSink, SparkJob, Splitting
from airflow_provider_blockread.task_group import BlockReadTaskGroup

with DAG(
    "blockread_s3",
    description="Log lines and JSON lines from S3 to S3, on a cluster and on a Spark Connect server",
    schedule=None,
    doc_md=__doc__,
    tags=["blockread"],
    default_args={"retries": 1, "retry_delay": timedelta(seconds=10)},
    is_paused_upon_creation=True,
    max_active_runs=1,
):
    # The driver is a process of the task; executors of the cluster read and write the buckets.
    BlockReadTaskGroup(
        "log_lines",
        source=FileSource("s3://landing/logs/", pattern="*.log", conn_id="s3"),
        sink=ParquetSink("s3://lake/logs/", conn_id="s3"),
        splitting=Splitting(block_size="4MiB"),
        spark=SparkJob(conn_id="spark_cluster"),
    )

    # The worker is free while the server reads: a helper of the triggerer drives it.
    BlockReadTaskGroup(
        "events",
        source=FileSource("s3://landing/events/", pattern="**/*.jsonl", conn_id="s3"),
        record_format=JsonLines(schema="id long, at timestamp, user string, action string, amount double"),
        sink=ParquetSink("s3://lake/events/", conn_id="s3"),
        splitting=Splitting(block_size="4MiB"),
        spark=SparkJob(conn_id="spark_connect"),
        deferrable=True,
    )
