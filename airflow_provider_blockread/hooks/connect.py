"""Spark Connect through Airflow's connections, and the choice between it and spark-submit."""

from __future__ import annotations

from airflow.sdk import BaseHook
from airflow.sdk.exceptions import AirflowNotFoundException

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.hooks.stores import Credentials
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.engines.session import Server
from airflow_provider_blockread.spark.remote import ConnectSubmitter

_TYPE = "spark_connect"  # of Airflow's connection


def make_submitter(job: SparkJob, credentials: Credentials, observer: Observer) -> SparkSubmitter | ConnectSubmitter:
    """Return what runs a job's applications: Spark Connect if its connection is of that type, or else spark-submit."""
    server = connect_server(job)
    if server is None:
        return SparkSubmitter(job, credentials)
    return ConnectSubmitter(server, job, credentials=credentials, observer=observer)


def connect_server(job: SparkJob) -> Server | None:
    """Return the Spark Connect server of a job; None if the job runs on another Spark.

    Raises:
        OptionsError: when the connection does not name a server.
    """
    if job.remote is not None or job.master is not None:
        return None if job.remote is None else Server(job.remote)
    try:
        if BaseHook.get_connection(job.conn_id).conn_type != _TYPE:
            return None
    except AirflowNotFoundException:
        return None
    from airflow.providers.apache.spark.hooks.spark_connect import SparkConnectHook  # noqa: PLC0415 - an extra

    try:
        return Server(SparkConnectHook(job.conn_id).get_connection_url())
    except (AttributeError, ValueError) as error:
        msg = f"spark: connection {job.conn_id!r} names no Spark Connect server; give it a host and a port"
        raise OptionsError(msg) from error
