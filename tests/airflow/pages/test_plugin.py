"""How Airflow sees the plugin: where it shows the pages, and what it costs the components that show none."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from starlette.testclient import TestClient

from airflow_provider_blockread.get_provider_info import get_provider_info
from airflow_provider_blockread.links.addresses import PREFIX
from airflow_provider_blockread.plugins.airflow_site import AirflowLinks
from airflow_provider_blockread.plugins.blockread import BlockReadPlugin, external_views

pytestmark = pytest.mark.airflow


def test_airflow_lists_the_plugin_once_with_all_views(browser: Any) -> None:
    """The entry point is found, nothing in it is refused, and each view has a route of its own."""
    admin: TestClient = browser("ann", "ADMIN")
    plugins = [p for p in admin.get("/api/v2/plugins").json()["plugins"] if p["name"] == "blockread"]
    errors = admin.get("/api/v2/plugins/importErrors").json()["import_errors"]
    (found,) = plugins

    assert errors == []
    assert [app["url_prefix"] for app in found["fastapi_apps"]] == [PREFIX]
    assert [view["destination"] for view in found["external_views"]] == ["nav", "dag", "dag_run", "task_instance"]
    assert len({view["url_route"] for view in found["external_views"]}) == 4
    assert get_provider_info()["plugins"][0]["plugin-class"].endswith(f".{BlockReadPlugin.__name__}")


def test_views_are_below_the_path_of_airflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a proxy that gives Airflow a path, so are the pages, and links to Airflow's own."""
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://example.org/team/airflow/")

    assert {view["href"].partition("?")[0].rpartition("/blockread/")[0] for view in external_views()} == {
        "/team/airflow"
    }
    assert AirflowLinks("/team/airflow").task("a b", "manual__2026-01-01T00:00:00+00:00", "load.read", 3) == (
        "/team/airflow/dags/a%20b/runs/manual__2026-01-01T00%3A00%3A00%2B00%3A00/tasks/load.read/mapped/3"
    )


def test_a_worker_that_loads_the_plugin_loads_no_page() -> None:
    """Plugins are imported in every component; only the API server pays for templates and for SQL."""
    program = (
        "import sys; import airflow.plugins_manager; before = set(sys.modules);"
        "import airflow_provider_blockread.plugins.blockread;"
        "print(*sorted({m.partition('.')[0] for m in set(sys.modules) - before}),"
        "*(m for m in sys.modules if m.startswith('airflow_provider_blockread.pages')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert {"jinja2", "starlette", "fastapi", "pyarrow", "alembic"}.isdisjoint(done.stdout.split())
    assert "airflow_provider_blockread.pages" not in done.stdout
