"""Airflow's connections: found, or certainly absent.

Airflow's SDK reports a connection that could not be looked up as one that does not exist. A task would then go on with
another ledger or another Spark master than the one it was given.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from airflow.sdk import BaseHook
from airflow.sdk.configuration import conf
from airflow.sdk.exceptions import AirflowNotFoundException, AirflowRuntimeError

from airflow_provider_blockread.errors import TransientError

if TYPE_CHECKING:
    from airflow.sdk import Connection


def find_connection(conn_id: str) -> Connection | None:
    """Return a connection, or None if there is none.

    Raises:
        TransientError: when Airflow could not look it up.
    """
    try:
        return BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        _require_absent(conn_id)
        return _of_team(conn_id)


async def afind_connection(conn_id: str) -> Connection | None:
    """Return the same as `find_connection`, for triggers: without blocking the event loop.

    Raises:
        TransientError: when Airflow could not look it up.
    """
    try:
        return await BaseHook.aget_connection(conn_id)
    except AirflowNotFoundException:
        await asyncio.to_thread(_require_absent, conn_id)
        return None


def hint_for_triggers() -> str:
    """Return what else to say about a connection that a trigger has not found; nothing where there are no teams."""
    if not conf.getboolean("core", "multi_team", fallback=False):
        return ""
    return "; Airflow's triggerer finds no connection of a team: use one without a team, or deferrable=False"


def _require_absent(conn_id: str) -> None:
    """Ask again, in ways that tell a missing connection from a failed request.

    Raises:
        TransientError: when the connection may exist.
    """
    from airflow.sdk.exceptions import ErrorType  # noqa: PLC0415 - not at every DAG parse
    from airflow.sdk.execution_time import task_runner  # noqa: PLC0415
    from airflow.sdk.execution_time.comms import ErrorResponse, GetConnection  # noqa: PLC0415

    _ask_backends(conn_id)
    supervisor = getattr(task_runner, "SUPERVISOR_COMMS", None)
    if supervisor is None:  # this is no task, and reads the database itself
        return
    try:
        answer = supervisor.send(GetConnection(conn_id=conn_id))
    except AirflowRuntimeError as error:
        answer = error.error
    except (OSError, EOFError) as error:  # there is no supervisor any more
        raise _unknown(conn_id, type(error).__name__) from error
    if isinstance(answer, ErrorResponse) and answer.error is ErrorType.CONNECTION_NOT_FOUND:
        return
    raise _unknown(conn_id, answer.error.value if isinstance(answer, ErrorResponse) else "it is there now")


def _ask_backends(conn_id: str) -> None:
    """Ask each secrets backend of this process, whose errors the SDK takes for an answer."""
    from airflow.sdk.execution_time.secrets import ExecutionAPISecretsBackend  # noqa: PLC0415 - as above
    from airflow.sdk.execution_time.supervisor import ensure_secrets_backend_loaded  # noqa: PLC0415

    for backend in ensure_secrets_backend_loaded():
        if isinstance(backend, ExecutionAPISecretsBackend):  # which reports no error either; the supervisor is asked
            continue
        try:
            backend.get_connection(conn_id=conn_id)
        except Exception as error:  # noqa: BLE001 - whatever a backend raises; its text may hold a secret
            msg = (
                f"connection {conn_id!r}: {type(backend).__name__} could not read it ({type(error).__name__}); correct"
                " what is there, or retry"
            )
            raise TransientError(msg) from None


def _of_team(conn_id: str) -> Connection | None:
    """Return the connection of a team, which Airflow finds for its tasks by itself, but for its web server by name."""
    from airflow.sdk.execution_time import task_runner  # noqa: PLC0415 - as above

    if getattr(task_runner, "SUPERVISOR_COMMS", None) or not conf.getboolean("core", "multi_team", fallback=False):
        return None
    from airflow.models.connection import Connection as Stored  # noqa: PLC0415 - tasks must not load it

    team = Stored.get_team_name(conn_id)
    return Stored.get_connection_from_secrets(conn_id, team_name=team) if team else None


def _unknown(conn_id: str, why: str) -> TransientError:
    return TransientError(f"connection {conn_id!r}: Airflow could not look it up ({why}); retry")
