"""All routes of the pages, and the rights that a visitor needs for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from starlette.responses import Response

from airflow_provider_blockread.pages.actions import views as actions
from airflow_provider_blockread.pages.tabs import dag, run, task
from airflow_provider_blockread.pages.views import feed, feeds, file, health, search, window
from airflow_provider_blockread.pages.visit import Visit


class Needs(Enum):
    """The right that a visitor needs for a route."""

    SIGNED_IN = "be known; lists show only the feeds that the visitor may see"
    SEE = "may see the feed of the path"
    READ_RECORDS = "may see the feed of the path, and bytes of its records"
    CHANGE = "may see and change the feed of the path"


@dataclass(frozen=True, slots=True, kw_only=True)
class PageRoute:
    """One route. Its path names the feed by `{feed}`, `{window}` or `{file}` unless only `SIGNED_IN` is needed."""

    path: str
    view: Callable[[Visit], Response]
    needs: Needs
    method: str = "GET"


_LEDGER = "/ledgers/{ledger}"

ROUTES = (
    PageRoute(path="/", view=feeds.show, needs=Needs.SIGNED_IN),
    PageRoute(path="/search", view=search.show, needs=Needs.SIGNED_IN),
    PageRoute(path="/tabs/dag", view=dag.show, needs=Needs.SIGNED_IN),
    PageRoute(path="/tabs/run", view=run.show, needs=Needs.SIGNED_IN),
    PageRoute(path="/tabs/run/live", view=run.live, needs=Needs.SIGNED_IN),
    PageRoute(path="/tabs/task", view=task.show, needs=Needs.SIGNED_IN),
    PageRoute(path="/tabs/task/live", view=task.live, needs=Needs.SIGNED_IN),
    PageRoute(path=f"{_LEDGER}/health", view=health.show, needs=Needs.SIGNED_IN),
    PageRoute(path=f"{_LEDGER}/feeds/{{feed}}", view=feed.show, needs=Needs.SEE),
    PageRoute(path=f"{_LEDGER}/windows/{{window}}", view=window.show, needs=Needs.SEE),
    PageRoute(path=f"{_LEDGER}/windows/{{window}}/live", view=window.live, needs=Needs.SEE),
    PageRoute(path=f"{_LEDGER}/windows/{{window}}/actions/{{action}}", view=actions.propose, needs=Needs.CHANGE),
    PageRoute(
        path=f"{_LEDGER}/windows/{{window}}/actions/{{action}}", view=actions.perform, needs=Needs.CHANGE, method="POST"
    ),
    PageRoute(path=f"{_LEDGER}/files/{{file}}", view=file.show, needs=Needs.SEE),
    PageRoute(path=f"{_LEDGER}/files/{{file}}/records", view=file.records, needs=Needs.READ_RECORDS),
)
