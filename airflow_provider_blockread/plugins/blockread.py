"""The plugin: the pages below `/blockread`, an entry in the navigation, and tabs on DAGs, runs and tasks.

Airflow loads plugins in all of its components. The pages are loaded only when the API server requests one.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

from airflow_provider_blockread.links.addresses import PREFIX, base_path

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


class PagesApp:
    """The application of the pages, created at the first request."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        await _application()(scope, receive, send)

    def __str__(self) -> str:
        return "Block read"


@cache
def _application() -> ASGIApp:
    from airflow_provider_blockread.pages.app import make_app  # noqa: PLC0415 - only the API server serves pages
    from airflow_provider_blockread.plugins.airflow_site import airflow_site  # noqa: PLC0415

    return make_app(airflow_site())


def external_views() -> list[dict[str, Any]]:
    """Return where Airflow shows which page; its interface fills in the names in braces."""
    root = base_path() + PREFIX
    run = "dag_id={DAG_ID}&run_id={RUN_ID}"
    pages = (
        ("nav", "", "/"),
        ("dag", "_dag", "/tabs/dag?dag_id={DAG_ID}"),
        ("dag_run", "_run", f"/tabs/run?{run}"),
        ("task_instance", "_task", f"/tabs/task?{run}&task_id={{TASK_ID}}&map_index={{MAP_INDEX}}"),
    )
    return [
        {
            "name": "Block read",
            "href": f"{root}{path}",
            "destination": destination,
            "url_route": f"blockread{suffix}",
            "icon": f"{root}/static/icon.svg",
            "icon_dark_mode": f"{root}/static/icon-dark.svg",
        }
        | ({"nav_top_level": True} if destination == "nav" else {})
        for destination, suffix, path in pages
    ]


class BlockReadPlugin(AirflowPlugin):
    """Block read in Airflow's web interface."""

    name = "blockread"
    fastapi_apps = [{"app": PagesApp(), "url_prefix": PREFIX, "name": "Block read"}]  # noqa: RUF012 - as Airflow has it
    external_views = external_views()
