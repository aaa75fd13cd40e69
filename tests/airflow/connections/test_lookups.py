"""A connection that cannot be looked up is not one that does not exist: a task waits for it, and goes nowhere else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowRuntimeError, ErrorType
from airflow.sdk.execution_time import task_runner
from airflow.sdk.execution_time.comms import ErrorResponse

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.hooks.connect import connect_server
from airflow_provider_blockread.hooks.ledger import LedgerHook
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


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("name", LOOKUPS)
def test_a_request_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch, name: str, *, fails: bool) -> None:
    """Once Airflow answers that there is none, it is as before: a default is taken, or the error names what lacks."""
    down = Supervisor(ErrorType.API_SERVER_ERROR, fails=fails)
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", down, raising=False)
    with pytest.raises(TransientError, match=r"Airflow could not look it up \(API_SERVER_ERROR\); retry"):
        LOOKUPS[name]()
    monkeypatch.setattr(task_runner, "SUPERVISOR_COMMS", Supervisor(ErrorType.CONNECTION_NOT_FOUND, fails=fails))
    if "store" in name:
        with pytest.raises(OptionsError, match="there is no connection 'lake'"):
            LOOKUPS[name]()
    elif name == "ledger":
        LOOKUPS[name]().close()
    else:
        LOOKUPS[name]()
