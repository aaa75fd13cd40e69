"""The ledger behind an Airflow connection of type `blockread`, or the embedded one in AIRFLOW_HOME.

A connection has host, port, database, login and password, and `sslmode` in its extra; or its extra has a complete URL
as `url`, in which case the other fields are ignored.
"""

from __future__ import annotations

import asyncio
import os
import re
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlencode

from airflow.sdk import BaseHook
from airflow.sdk.configuration import conf
from airflow.sdk.log import mask_secret

from airflow_provider_blockread.errors import BlockReadError, OptionsError
from airflow_provider_blockread.hooks.connections import afind_connection, find_connection, hint_for_triggers

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from airflow_provider_blockread.ledger.store import Ledger

#: Executors whose tasks run on the scheduler's host, and so see its files.
_LOCAL_EXECUTORS = frozenset({"LocalExecutor", "SequentialExecutor"})
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^/@:]*:([^@]*)@|[?&](?:ssl)?password=([^&]*)")


class LedgerHook(BaseHook):
    """Opens the ledger.

    :param ledger_conn_id: the connection; default: `blockread_default` if it exists, else the embedded SQLite
        ledger `blockread.db` in AIRFLOW_HOME, which serves one host. `noop` remembers nothing between
        runs: each run reads all files that it lists.
    :param run: the DAG run, which `noop` needs.
    """

    conn_name_attr = "ledger_conn_id"
    default_conn_name = "blockread_default"
    conn_type = "blockread"
    hook_name = "Block read ledger"

    def __init__(self, ledger_conn_id: str | None = None, *, run: str = "") -> None:
        super().__init__()
        self.ledger_conn_id = ledger_conn_id
        self.run = run

    def get_conn(self) -> Ledger:
        """Return the ledger after a check of its schema; only the embedded one is created or migrated.

        Raises:
            OptionsError: when the connection is missing or unusable, or no connection is named although tasks may run
                on several hosts.
            LedgerSchemaError: when the schema is not the one of this package.
            LedgerUnavailableError: when the database cannot be reached.
            TransientError: when Airflow could not look the connection up.
        """
        from airflow_provider_blockread.ledger.opening import open_ledger  # noqa: PLC0415 - not at every DAG parse

        connection = None
        if not self._forgets:
            connection = self._checked(find_connection(self.ledger_conn_id or self.default_conn_name))
        return open_ledger(self._place(connection))

    async def alocate(self) -> dict[str, str]:
        """Return the ledger's place, for `ledger.opening.open_ledger`, without blocking the event loop.

        Raises:
            OptionsError: when the connection is missing or unusable, or no connection is named although one is needed.
            TransientError: when Airflow could not look the connection up.
        """
        connection = None
        if not self._forgets:
            found = await afind_connection(self.ledger_conn_id or self.default_conn_name)
            connection = self._checked(found, hint_for_triggers())
        # Secrets are masked by a call to the supervisor, which blocks.
        return await asyncio.to_thread(self._place, connection)

    def _place(self, connection: Connection | None) -> dict[str, str]:
        url = connection_url(connection) if connection else ""
        if url and not url.startswith("noop:"):
            return {"url": url}
        refuse_remote_executors(conf.get("core", "executor"))
        if url or self._forgets:
            return {"noop": str(Path(airflow_home()) / "blockread_noop"), "run": self.run}
        return {"embedded": airflow_home()}

    def conn_id_in_use(self) -> str | None:
        """Return the connection that a task uses, for its trigger, or None for the embedded ledger.

        A trigger that does not find the task's connection must not wait with another ledger.

        Raises:
            TransientError: when Airflow could not look the connection up.
        """
        if self.ledger_conn_id is None and find_connection(self.default_conn_name):
            return self.default_conn_name
        return self.ledger_conn_id

    def test_connection(self) -> tuple[bool, str]:
        """Return whether the ledger can be used, and a message for the connection form."""
        try:
            with closing(self.get_conn()) as ledger:
                return True, f"{ledger.name} is reachable and its schema is current"
        except BlockReadError as error:
            return False, str(error)

    @property
    def _forgets(self) -> bool:
        return self.ledger_conn_id == "noop"

    def _checked(self, found: Connection | None, hint: str = "") -> Connection | None:
        """Return the connection that was found, or None if none was named.

        Raises:
            OptionsError: when one was named that does not exist.
        """
        if found is None and self.ledger_conn_id is not None:
            conn_id = self.ledger_conn_id
            msg = f"ledger: there is no connection {conn_id!r}; create one of type blockread, or name another{hint}"
            raise OptionsError(msg)
        return found


def airflow_home() -> str:
    """Return Airflow's home folder."""
    return str(Path(os.path.expandvars(os.environ.get("AIRFLOW_HOME", "~/airflow"))).expanduser().absolute())


def refuse_remote_executors(executor: str) -> None:
    """Refuse the embedded ledger if tasks may run on hosts other than the scheduler's.

    Args:
        executor: Airflow's `[core] executor`: one or several names or import paths.

    Raises:
        OptionsError: with the executor, and what to do.
    """
    names = [name for name in re.split(r"[^\w.]+", executor) if name.endswith("Executor")]
    remote = [name for name in names if name.rpartition(".")[2] not in _LOCAL_EXECUTORS]
    if remote or not names:
        msg = (
            f"ledger: tasks of {', '.join(remote) or executor} may run on other hosts, which cannot share the embedded "
            "SQLite ledger; make a connection `blockread_default` of type blockread to a PostgreSQL database, "
            "then run `airflow blockread db upgrade --state URL` with its URL"
        )
        raise OptionsError(msg)


def connection_url(connection: Connection) -> str:
    """Return the ledger's URL from a connection, and mask its password in logs from now on.

    Raises:
        OptionsError: when the connection names neither a URL nor a host and a database.
    """
    extra = connection.extra_dejson
    if url := extra.get("url"):
        for password in filter(None, chain.from_iterable(_PASSWORD_IN_URL.findall(str(url)))):
            mask_secret(password)
            mask_secret(unquote(password))  # as the server's errors would have it
        return str(url)
    if not connection.host or not connection.schema:
        msg = f"ledger: connection {connection.conn_id!r} needs a host and a database, or `url` in its extra; edit it"
        raise OptionsError(msg)
    login = quote(connection.login or "", safe="")
    password = f":{quote(connection.password, safe='')}" if connection.password else ""
    port = f":{connection.port}" if connection.port else ""
    settings = {"sslmode": extra["sslmode"]} if extra.get("sslmode") else {}
    host = connection.host
    if host.startswith("/"):  # the folder of a Unix domain socket, which cannot be the host of a URL
        host, port, settings = "", "", settings | {"host": host} | ({"port": connection.port} if port else {})
    query = f"?{urlencode(settings)}" if settings else ""
    return f"postgresql://{login}{password}{'@' if login else ''}{host}{port}/{connection.schema}{query}"
