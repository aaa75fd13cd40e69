"""Spark Connect through Airflow's connections, and the choice between it and spark-submit."""

from __future__ import annotations

from urllib.parse import quote

from airflow.sdk import Connection

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.connections import find_connection
from airflow_provider_blockread.hooks.spark import SparkSubmitter
from airflow_provider_blockread.hooks.stores import Credentials
from airflow_provider_blockread.observer import Observer
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.engines.session import Server
from airflow_provider_blockread.spark.remote import ConnectSubmitter

_TYPE = "spark_connect"  # of Airflow's connection


def make_submitter(job: SparkJob, credentials: Credentials, observer: Observer) -> SparkSubmitter | ConnectSubmitter:
    """Return the submitter of a job's applications: Spark Connect if its connection is one, else spark-submit."""
    server = connect_server(job)
    if server is None:
        return SparkSubmitter(job, credentials)
    return ConnectSubmitter(server, job, credentials=credentials, observer=observer)


def connect_server(job: SparkJob) -> Server | None:
    """Return the Spark Connect server of a job, or None if the job does not use Spark Connect.

    Raises:
        OptionsError: when the connection does not name a server.
        TransientError: when Airflow could not look the connection up.
    """
    if job.remote is not None:
        return Server(job.remote)
    if job.master is not None:
        return None
    found = find_connection(job.conn_id)
    return Server(_address(found)) if found is not None and found.conn_type == _TYPE else None


def _address(connection: Connection) -> str:
    """Return the connection string made of the fields of a connection.

    Airflow's own hook does not escape a slash in a token, which then counts as part of the path.
    """
    host = str(connection.host or "").removeprefix("sc://").rstrip("/")
    if not host or "/" in host:
        msg = f"spark: connection {connection.conn_id!r} names no Spark Connect server; give it a host and a port"
        raise OptionsError(msg)
    given = {"user_id": connection.login, "token": connection.password}
    given["use_ssl"] = connection.extra_dejson.get("use_ssl")
    parameters = "".join(f";{name}={quote(str(value), safe='')}" for name, value in given.items() if value is not None)
    return f"sc://{host}{f':{connection.port}' if connection.port else ''}/{parameters}"
