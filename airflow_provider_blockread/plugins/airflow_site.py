"""The site that Airflow's web server shows: the ledgers of its connections, its users, and its own pages."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from urllib.parse import quote, urlencode

from airflow.sdk.configuration import conf

from airflow_provider_blockread.exchange.seals import derived
from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.links.addresses import base_path, history_page, shown_ledgers
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.pages.actions.guard import origin_of
from airflow_provider_blockread.pages.site import Links, Site, TaskId
from airflow_provider_blockread.plugins.connected_stores import ConnectedAccess, ConnectedStores
from airflow_provider_blockread.plugins.tasks import AirflowSchedules, AirflowTasks
from airflow_provider_blockread.plugins.users import airflow_user
from airflow_provider_blockread.steps.model import Environment

_log = logging.getLogger(__name__)


def airflow_site() -> Site:
    """Return the site of the ledgers in `[blockread] ledger_conn_ids`."""
    ledgers: dict[str, Callable[[], Environment]] = {name: partial(_open, name) for name in shown_ledgers()}
    return Site(
        ledgers=ledgers,
        visitor=airflow_user,
        links=AirflowLinks(base_path()),
        schedules=AirflowSchedules(),
        tasks=AirflowTasks(),
        secret=derived(str(conf.get("api", "secret_key")), "blockread pages").encode(),
        origins=frozenset({origin_of(str(conf.get("api", "base_url", fallback="")))}),
    )


class AirflowLinks(Links):
    """Addresses of Airflow's own pages, and of Spark's history server.

    Args:
        root: the path of Airflow's pages, as `base_path` returns it.
    """

    def __init__(self, root: str) -> None:
        self._root = root

    def dag(self, dag: str) -> str | None:
        """Return the address of a DAG's page."""
        return f"{self._root}/dags/{quote(dag, safe='')}"

    def run(self, dag: str, run: str) -> str | None:
        """Return the address of a run's page."""
        return f"{self.dag(dag)}/runs/{quote(run, safe='')}"

    def task(self, task: TaskId) -> str | None:
        """Return the address of a task instance's page."""
        mapped = "" if task.map_index < 0 else f"/mapped/{task.map_index}"
        return f"{self.run(task.dag, task.run)}/tasks/{quote(task.task, safe='')}{mapped}"

    def application(self, application: str) -> str | None:
        """Return the address of a Spark application in the history server, if one is configured."""
        return history_page(application) or None

    def login(self, page: str) -> str | None:
        """Return the address at which a user signs in to Airflow, whatever its auth manager, and comes to a page."""
        return f"{self._root}/api/v2/auth/login?{urlencode({'next': page})}"


def _open(conn_id: str) -> Environment:
    """Return the ledger of a connection, and the stores that its windows need.

    Raises:
        BlockReadError: when the ledger cannot be used.
    """
    ledger = LedgerHook(None if conn_id == LedgerHook.default_conn_name else conn_id).get_conn()
    return Environment(
        ledger=ledger,
        stores=ConnectedStores(ledger),
        observer=LogObserver(_log.info, _log.warning),
        access=ConnectedAccess(),
    )
