"""Links of a task to the page of its window, to that window's output, and to its Spark application.

Airflow requests them on the worker when a try has ended, and stores them.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperatorLink

from airflow_provider_blockread.links.addresses import history_page, window_page

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey


class WindowLink(BaseOperatorLink):
    """The page of the window that the task planned, read or published."""

    name = "Window"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 - Airflow's
        """Return its address; empty if the task has no window, or the pages do not show the window's ledger."""
        return window_page(getattr(operator, "ledger_conn_id", None), window_of(operator).get("window", ""))


class OutputLink(WindowLink):
    """The list of the window's output files, on its page."""

    name = "Output"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return its address; empty as for `WindowLink`."""
        page = super().get_link(operator, ti_key=ti_key)
        return f"{page}#outputs" if page else ""


class SparkLink(BaseOperatorLink):
    """The task's Spark application in the history server that `[blockread] spark_history_url` names."""

    name = "Spark"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002 - Airflow's
        """Return its address; empty without a history server, or if the application has no id."""
        return history_page(_application(operator)) if history_page("any") else ""


def window_of(operator: Any) -> Mapping[str, Any]:  # noqa: ANN401 - any
    """Return the reference of the window that a task plans, reads or publishes; empty if there is none yet."""
    found = getattr(operator, "planned", None) or getattr(operator, "window", None)
    return found if isinstance(found, Mapping) else {}


def _application(operator: Any) -> str:  # noqa: ANN401 - one of ours
    from airflow_provider_blockread.hooks.ledger import LedgerHook  # noqa: PLC0415 - not at every DAG parse
    from airflow_provider_blockread.ledger.windows.generations import list_groups  # noqa: PLC0415

    window = window_of(operator)
    if window.get("status") != "read" or operator.ledger_conn_id == "noop":
        return ""  # also for a mapped task that ends before Airflow has rendered it, which has no options yet
    with closing(LedgerHook(operator.ledger_conn_id).get_conn()) as ledger:
        groups = list_groups(ledger, window["window"], window["generation"])
    return next((group.application or "" for group in groups if group.ref.group == int(operator.group)), "")
