"""A connection that cannot be looked up is not one that does not exist: a task waits for it, and goes nowhere else."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.bases.secrets_backend import BaseSecretsBackend
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import supervisor, task_runner
from airflow.sdk.execution_time.comms import ErrorResponse

from airflow_provider_blockread.errors import LedgerSchemaError, OptionsError, TransientError
from airflow_provider_blockread.hooks.connect import connect_server
from airflow_provider_blockread.hooks.connections import find_connection
from airflow_provider_blockread.hooks.ledger import LedgerHook, connection_url
from airflow_provider_blockread.hooks.spark import spark_connection
from airflow_provider_blockread.hooks.stores import aconnection, connection_of
from airflow_provider_blockread.options import SparkJob

pytestmark = pytest.mark.airflow

LOOKUPS: dict[str, Callable[[], Any]] = {
    "ledger": lambda: LedgerHook().get_conn(),
    "a trigger's ledger": lambda: asyncio.run(LedgerHook().alocate()),
    "store": lambda: connection_of("lake"),
    "a trigger's store": lambda: asyncio.run(aconnection("lake")),
    "spark": lambda: spark_connection(SparkJob()),
    "connect": lambda: connect_server(SparkJob()),
}


class Sealed(BaseSecretsBackend):
    """A secrets backend that is out of order."""

    def get_connection(self, conn_id: str, team_name: str | None = None) -> None:
        """Fail."""
        del team_name
        msg = f"the vault of {conn_id} is sealed: s3cr3t"
        raise RuntimeError(msg)


class Supervisor:
    """Answers all requests with an error, as a supervisor does, or one that fails itself."""

    def __init__(self, error: ErrorType, *, fails: bool = False) -> None:
        self._answer = ErrorResponse(error=error)
        self._fails = fails

    def send(self, message: object) -> ErrorResponse:
        """Answer."""
        del message
        if self._fails:
            raise AirflowRuntimeError(self._answer)
        return self._answer

    async def asend(self, message: object) -> ErrorResponse:
        """Answer."""
        return self.send(message)


def _finds_none(name: str) -> None:
    """Look up a connection that is known to be missing: a default is taken, or the error names what lacks."""
    if "store" in name:
        with pytest.raises(OptionsError, match="there is no connection 'lake'"):
            LOOKUPS[name]()
    elif name == "ledger":
        LOOKUPS[name]().close()
    else:
        LOOKUPS[name]()


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", LOOKUPS)
def test_a_request_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch, name: str, *, fails: bool) -> None:
    """Once Airflow answers that there is none, it is as before."""
    down = Supervisor(ErrorType.API_SERVER_ERROR, fails=fails)
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", down, raising=False)
    with pytest.raises(TransientError, match=r"Airflow could not look it up \(API_SERVER_ERROR\); retry"):
        LOOKUPS[name]()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", Supervisor(ErrorType.CONNECTION_NOT_FOUND, fails=fails))
    _finds_none(name)


@pytest.mark.parametrize("name", LOOKUPS)
def test_a_secrets_backend_that_fails_is_asked_again(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Airflow goes on as if the backend had no such connection, and a task would plan in another ledger."""
    monkeypatch.setattr(supervisor, "ensure_secrets_backend_loaded", lambda: [Sealed()])
    with pytest.raises(
        TransientError, match=r"Sealed could not read it \(RuntimeError\); correct .* or retry"
    ) as found:
        LOOKUPS[name]()
    assert "s3cr3t" not in "".join(traceback.format_exception(found.value))
    monkeypatch.setattr(supervisor, "ensure_secrets_backend_loaded", list)
    _finds_none(name)


@pytest.mark.usefixtures("database")
def test_the_pages_find_the_connection_of_a_team(monkeypatch: pytest.MonkeyPatch) -> None:
    """Airflow finds it for tasks of the team; its web server has to name the team."""
    from airflow.models.connection import Connection
    from airflow.models.team import Team
    from airflow.utils.session import create_session

    monkeypatch.setenv("_AIRFLOW_PROCESS_CONTEXT", "server")
    with create_session() as session:
        session.add(Team(name="team_a"))
        session.flush()
        session.add(Connection(conn_id="of_team", conn_type="blockread", host="db", schema="x", team_name="team_a"))
    with pytest.raises(OptionsError, match="no connection 'of_team'"):
        connection_of("of_team")

    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    assert connection_url(connection_of("of_team")) == "postgresql://db/x"
    assert find_connection("of_nobody") is None


def test_a_connection_in_the_environment_that_is_no_json(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is not taken for one that is missing, in whose place the embedded ledger would be used."""
    monkeypatch.setenv("AIRFLOW_CONN_BLOCKREAD_DEFAULT", '{"conn_type": "blockread", "password": "s3cr3t"')
    with pytest.raises(TransientError, match=r"'blockread_default': EnvironmentVariablesBackend could not read it"):
        LedgerHook().get_conn()

    url = f"sqlite:///{tmp_path}/own.db"
    monkeypatch.setenv("AIRFLOW_CONN_BLOCKREAD_DEFAULT", json.dumps({"conn_type": "blockread", "extra": {"url": url}}))
    with pytest.raises(LedgerSchemaError, match="db upgrade"):
        LedgerHook().get_conn()
