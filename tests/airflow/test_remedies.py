"""Connections, queues and programs that are missing or wrong: what each message asks for, done, works."""

from __future__ import annotations

import re
import shlex
import shutil
import stat
import sys
from importlib.metadata import requires
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.sdk import Connection
from airflow.sdk.exceptions import AirflowFailException
from click.testing import CliRunner

from airflow_provider_blockread.cli.commands import blockread
from airflow_provider_blockread.errors import LedgerSchemaError, OptionsError, SparkJobError
from airflow_provider_blockread.exchange.model import Submission
from airflow_provider_blockread.hooks.assumed_role import assume_role
from airflow_provider_blockread.hooks.ledger import LedgerHook, connection_url, refuse_remote_executors
from airflow_provider_blockread.hooks.queues import AzureQueue, SqsQueue
from airflow_provider_blockread.hooks.spark import SparkSubmitter, spark_connection
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.operators.base import StepOperator
from airflow_provider_blockread.options import SparkJob
from airflow_provider_blockread.spark.engines.session import Server, client_of
from tests.airflow.logger import Logger
from tests.airflow.queues import aws as aws  # noqa: PLC0414 - a fixture
from tests.airflow.refusals import connect, refused
from tests.ledgers import open_ledger
from tests.postgres import new_schema, postgres_server
from tests.remedies.advice import commands

pytestmark = pytest.mark.airflow


def test_a_ledger_connection_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Created with the type that the message names, it leads to the ledger; so does another one."""
    with pytest.raises(OptionsError, match="there is no connection 'mine'; create one of type blockread, or name"):
        LedgerHook("mine").get_conn()
    ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    for name in ("mine", "another"):
        connect(monkeypatch, name, "blockread", extra={"url": f"sqlite:///{tmp_path}/ledger.db"})
        assert LedgerHook(name).get_conn().uuid == ledger.uuid
    ledger.close()


def test_a_ledger_connection_without_a_database() -> None:
    """Edited in either of the two ways, it is a URL."""
    message = refused(connection_url, Connection(conn_id="mine", conn_type="blockread", host="db"))
    assert "needs a host and a database, or `url` in its extra; edit it" in message

    for fields in ({"host": "db", "schema": "ledger"}, {"extra": '{"url": "postgresql://me@db/ledger"}'}):
        assert connection_url(Connection(conn_id="mine", conn_type="blockread", **fields)).startswith("postgresql://")


@pytest.mark.postgres
def test_an_executor_on_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection and the command that the message names give such an executor its ledger."""
    message = refused(refuse_remote_executors, "CeleryExecutor")
    [conn_id, command] = re.findall(r"`([^`]+)`", message)
    assert (conn_id, "of type blockread to a PostgreSQL database" in message) == ("blockread_default", True)
    with postgres_server() as server:
        url = new_schema(server, "remote", upgraded=False)
        connect(monkeypatch, conn_id, "blockread", extra={"url": url})
        with pytest.raises(LedgerSchemaError):
            LedgerHook().get_conn()
        words = [url if word == "URL" else word for word in shlex.split(command)]
        assert words[:2] == ["airflow", "blockread"]
        with pytest.MonkeyPatch.context() as closing:
            closing.setattr(Ledger, "name", property(lambda ledger: ledger.close() or "closed"))
            assert CliRunner().invoke(blockread, words[2:]).exit_code == 0
        ledger = LedgerHook().get_conn()
        ledger.check()
        ledger.close()


def test_a_spark_connection_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Created, or replaced by a master, it says where Spark is."""
    message = refused(spark_connection, SparkJob(conn_id="cluster"))
    assert "create one of type spark, or set master" in message
    assert spark_connection(SparkJob(conn_id="cluster", master="local[1]")).host == "local[1]"
    connect(monkeypatch, "cluster", "spark", host="yarn")

    assert spark_connection(SparkJob(conn_id="cluster")).host == "yarn"


def _program(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "spark-submit").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "spark-submit").chmod(stat.S_IRWXU)


JOB = SparkJob(master="local[1]")
SPEC = Submission(spec_uri="file:///spec.json", spec_hash="00ff")


def test_spark_submit_that_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What the extra installs brings the program, which is found beside Python without being on PATH."""
    with monkeypatch.context() as bare:
        bare.setenv("PATH", str(tmp_path))
        bare.setattr(sys, "executable", str(tmp_path / "python"))
        message = refused(lambda: SparkSubmitter(JOB).submit(SPEC, name="job"))
    assert _extra_of(message) == "spark"
    assert shutil.which("spark-submit", path=str(Path(sys.executable).parent)) is not None


@pytest.mark.parametrize(
    ("home", "says"),
    [("", "install a JRE, or set JAVA_HOME"), ("/nowhere", "JAVA_HOME=/nowhere has no bin/java: .* set it to a JRE")],
)
def test_a_task_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str, says: str) -> None:
    """Spark's own spark-submit fails, and the error says what to install; with Java, an application runs."""
    for program in Path("/usr/bin").iterdir():
        if program.name != "java":
            (tmp_path / program.name).symlink_to(program)
    with monkeypatch.context() as bare:
        bare.setenv("PATH", f"{tmp_path}:{Path(sys.executable).parent}")
        bare.setenv("JAVA_HOME", home)
        with pytest.raises(OptionsError, match=says):
            SparkSubmitter(JOB).submit(SPEC, name="job")
    programs = tmp_path / "programs"
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    _program(programs, 'exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" -version')

    SparkSubmitter(JOB).submit(SPEC, name="job")


def test_an_application_that_failed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Its cause fixed, the retry works."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    _program(tmp_path, "echo 'the cause' >&2; exit 1")
    with pytest.raises(SparkJobError, match=r"(?s)the Spark application failed.*retry.*the cause"):
        SparkSubmitter(JOB).submit(SPEC, name="job")
    _program(tmp_path, "exit 0")

    SparkSubmitter(JOB).submit(SPEC, name="job")


def test_an_application_that_was_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The task that was cleared makes another one, which runs."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    _program(tmp_path, "exit 0")
    stopped = SparkSubmitter(JOB)
    stopped.cancel()
    with pytest.raises(SparkJobError, match="was stopped; clear the task"):
        stopped.submit(SPEC, name="job")

    SparkSubmitter(JOB).submit(SPEC, name="job")


@pytest.mark.parametrize("remedy", ["identity", "client"])
def test_a_driver_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, remedy: str) -> None:
    """Without a connection of a store, or in deploy mode client, the application runs."""
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    _program(tmp_path, "exit 0")
    connect(monkeypatch, "cluster", "spark", host="yarn", extra={"deploy-mode": "cluster"})
    job, secrets = SparkJob(conn_id="cluster"), {"s3://lake": {"key": "hush"}}
    with pytest.raises(OptionsError, match="leave conn_id out, or use deploy mode client"):
        SparkSubmitter(job, secrets).submit(SPEC, name="job")
    if remedy == "client":
        connect(monkeypatch, "cluster", "spark", host="yarn", extra={"deploy-mode": "client"})

    SparkSubmitter(job, secrets if remedy == "client" else {}).submit(SPEC, name="job")


def _extra_of(message: str) -> str:
    return re.findall(r"airflow-provider-blockread\[(\w+)\]", message)[0]


@pytest.mark.parametrize(
    ("module", "package", "call"),
    [
        ("azure.storage.queue", "azure-storage-queue", lambda: AzureQueue("https://a.queue.core.windows.net/q", None)),
        ("botocore.session", "s3fs", lambda: SqsQueue("https://sqs.eu-central-1.amazonaws.com/1/q", None)),
        (
            "botocore.session",
            "s3fs",
            lambda: assume_role(
                Connection(conn_id="s", conn_type="aws", extra='{"role_arn": "arn:aws:iam::1:role/r"}'),
                (None, None, None),
            ),
        ),
        (
            "airflow.providers.apache.spark.hooks.spark_submit",
            "apache-airflow-providers-apache-spark",
            lambda: SparkSubmitter(JOB)._make_hook("job"),
        ),
        ("pyspark.sql.connect.client", "pyspark-client", lambda: client_of(Server("sc://localhost:1"), "")),
    ],
    ids=["azure", "sqs", "role", "spark", "connect"],
)
def test_what_an_extra_installs(monkeypatch: pytest.MonkeyPatch, module: str, package: str, call: Any) -> None:
    """The extra that the message names holds the package whose module is missing."""
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, "airflow_provider_blockread.hooks.tracked_submit", raising=False)
    with pytest.raises(OptionsError, match="install") as caught:
        call()

    wanted = [line for line in requires("airflow-provider-blockread") or () if line.startswith(package)]
    assert any(f'extra == "{_extra_of(str(caught.value))}"' in line.replace("'", '"') for line in wanted)


class Naming(StepOperator):
    """Fails, and names a command."""

    def run_step(self, context: Any) -> None:
        """Fail."""
        del context
        self.environment()
        msg = "look with `blockread windows list`"
        raise OptionsError(msg)


@pytest.mark.parametrize("embedded", [False, True])
def test_commands_find_the_ledger_of_a_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, embedded: bool
) -> None:
    """The task's log says what to give a command that an error names, unless it would find the ledger by itself."""
    logged: list[str] = []
    monkeypatch.setattr(Naming, "log", Logger(logged))
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    ledger = open_ledger(f"sqlite:///{tmp_path}/other.db")
    ledger.close()
    connect(monkeypatch, "mine", "blockread", extra={"url": f"sqlite:///{tmp_path}/other.db"})
    names = ("dag_id", "run_id", "run_type", "partition_key", "partition_date", "data_interval_start")
    run = SimpleNamespace(**dict.fromkeys((*names, "data_interval_end"), "x"), clear_number=0)
    with pytest.raises(AirflowFailException) as failed:
        Naming(task_id="t", ledger_conn_id=None if embedded else "mine").execute({"dag_run": run})

    more = [] if embedded else shlex.split(logged[-1].partition("ledger: ")[2])
    assert more[:1] == ([] if embedded else ["--state"])
    assert CliRunner().invoke(blockread, [*commands(str(failed.value))[0], *more]).exit_code == 0
