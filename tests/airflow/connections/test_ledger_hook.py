"""The ledger behind Airflow: the embedded one, connections, and what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from airflow.sdk import Connection
from airflow.sdk._shared.secrets_masker import redact

from airflow_provider_blockread.errors import LedgerSchemaError, OptionsError
from airflow_provider_blockread.hooks.ledger import LedgerHook, connection_url, refuse_remote_executors
from airflow_provider_blockread.hooks.stores import aconnection
from tests.ledgers import open_ledger

pytestmark = pytest.mark.airflow


def connect(monkeypatch: pytest.MonkeyPatch, conn_id: str, **fields: object) -> None:
    """Make a connection, as a deployment does by environment variables."""
    monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps({"conn_type": "blockread"} | fields))


def test_the_embedded_ledger_makes_itself(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without a connection, a SQLite file in AIRFLOW_HOME is created at first use and found again."""
    monkeypatch.setenv("AIRFLOW_HOME", str(tmp_path))
    first, second = LedgerHook().get_conn(), LedgerHook().get_conn()

    assert (tmp_path / "blockread.db").exists()
    assert first.uuid == second.uuid


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("postgresql://me:s3cr3t@db/blockread", "s3cr3t"),
        ("postgresql://me:s3/cr3t@db/blockread", "s3/cr3t"),
        ("postgresql://me:s3%40cr3t@db/blockread", "s3@cr3t"),
        ("postgresql://me@db/blockread?sslmode=require&password=s3cr3t", "s3cr3t"),
        ("postgresql://me@db/blockread?sslpassword=s3cr3t&sslmode=require", "s3cr3t"),
    ],
)
def test_the_password_in_a_url_is_masked_in_logs(url: str, secret: str) -> None:
    """Airflow itself masks passwords of connections, but knows none in a URL of their extra."""
    assert secret in redact(f"no {secret} here")
    connection_url(Connection(conn_id="mine", conn_type="blockread", extra=json.dumps({"url": url})))

    assert redact(f"no {secret} here") == "no *** here"


def test_a_default_connection_comes_before_the_embedded_ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`blockread_default` is used where it exists."""
    ledger = open_ledger(f"sqlite:///{tmp_path}/other.db")
    connect(monkeypatch, "blockread_default", extra={"url": f"sqlite:///{tmp_path}/other.db"})

    assert LedgerHook().get_conn().uuid == ledger.uuid
    assert LedgerHook().test_connection()[0]


def test_a_connections_ledger_is_never_migrated_on_the_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A shared database is migrated by the command, on purpose; the error and the connection test say so."""
    connect(monkeypatch, "mine", extra={"url": f"sqlite:///{tmp_path}/new.db"})
    works, message = LedgerHook("mine").test_connection()

    assert not works
    assert "db upgrade" in message
    with pytest.raises(LedgerSchemaError):
        LedgerHook("mine").get_conn()


def test_a_missing_connection_is_named() -> None:
    """A connection that is asked for by name must exist."""
    with pytest.raises(OptionsError, match="there is no connection 'nowhere'; create one of type blockread"):
        LedgerHook("nowhere").get_conn()


def test_a_trigger_is_given_the_connection_that_its_task_uses(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One that it does not find there, as that of a team, must not send it to the embedded ledger."""
    assert LedgerHook().conn_id_in_use() is None
    assert LedgerHook("mine").conn_id_in_use() == "mine"
    with monkeypatch.context() as changed:
        connect(changed, "blockread_default", extra={"url": f"sqlite:///{tmp_path}/other.db"})
        in_use = LedgerHook().conn_id_in_use()

    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    for look_up in (LedgerHook(in_use).alocate, lambda: aconnection("lake")):
        with pytest.raises(
            OptionsError, match=r"no connection '(blockread_default|lake)'; .*; Airflow's triggerer finds"
        ):
            asyncio.run(look_up())


@pytest.mark.parametrize("executor", ["LocalExecutor", "airflow.executors.local_executor.LocalExecutor"])
def test_local_executors_may_use_the_embedded_ledger(executor: str) -> None:
    """Their tasks run on the scheduler's host."""
    refuse_remote_executors(executor)


@pytest.mark.parametrize(
    ("executor", "named"),
    [
        ("CeleryExecutor", "CeleryExecutor"),
        ("LocalExecutor,KubernetesExecutor", "KubernetesExecutor"),
        ("LocalExecutor,ecs:company.executors.AwsEcsExecutor", "company.executors.AwsEcsExecutor"),
        ("something_else", "something_else"),
    ],
)
def test_other_executors_need_a_real_database(executor: str, named: str) -> None:
    """Their tasks would each see another SQLite file; the error names the executor and the way out."""
    with pytest.raises(OptionsError, match=rf"tasks of {named} may run.*airflow blockread db upgrade"):
        refuse_remote_executors(executor)


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        (
            {"host": "db", "schema": "ledger", "login": "me@x", "password": "p/@:%", "port": 5433},
            "postgresql://me%40x:p%2F%40%3A%25@db:5433/ledger",
        ),
        (
            {"host": "db", "schema": "ledger", "extra": '{"sslmode": "verify-full"}'},
            "postgresql://db/ledger?sslmode=verify-full",
        ),
        (
            {"host": "/run/postgresql", "schema": "ledger", "login": "me", "port": 5433},
            "postgresql://me@/ledger?host=%2Frun%2Fpostgresql&port=5433",
        ),
        ({"host": "ignored", "extra": '{"url": "sqlite:////data/ledger.db"}'}, "sqlite:////data/ledger.db"),
    ],
)
def test_a_connection_becomes_a_url(fields: dict[str, object], url: str) -> None:
    """Fields are quoted, known extras are taken, and a URL in the extra stands alone."""
    assert connection_url(Connection(conn_id="mine", conn_type="blockread", **fields)) == url


def test_a_connection_without_database_is_refused() -> None:
    """It would otherwise reach some default database of the server."""
    with pytest.raises(OptionsError, match="connection 'mine' needs a host and a database"):
        connection_url(Connection(conn_id="mine", conn_type="blockread", host="db"))
