"""How Airflow sees the plugin: where it shows the pages, and what it costs the components that show none."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.models.dag import DagModel
from airflow.models.dagrun import DagRun
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG
from airflow.utils.session import create_session
from airflow.utils.state import DagRunState
from starlette.testclient import TestClient

from airflow_provider_blockread.get_provider_info import get_provider_info
from airflow_provider_blockread.links.addresses import PREFIX
from airflow_provider_blockread.pages.site import TaskId
from airflow_provider_blockread.plugins.airflow_site import AirflowLinks
from airflow_provider_blockread.plugins.blockread import BlockReadPlugin, external_views
from airflow_provider_blockread.plugins.tasks import AirflowSchedules

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
    task = TaskId(dag="a b", run="manual__2026-01-01T00:00:00+00:00", task="load.read", map_index=3)
    assert AirflowLinks("/team/airflow").task(task) == (
        "/team/airflow/dags/a%20b/runs/manual__2026-01-01T00%3A00%3A00%2B00%3A00/tasks/load.read/mapped/3"
    )


def test_the_next_runs_are_those_of_the_scheduler(runs: Any, dag_id: str) -> None:
    """Of DAGs that a schedule of times starts; those that are paused have none, and the others are not there."""
    hourly, by_hand, paused = (f"{dag_id}_{name}" for name in ("hourly", "by_hand", "paused"))
    for name in (hourly, by_hand, paused):
        start = datetime(2026, 1, 1, tzinfo=UTC)
        runs._sync(DAG(name, schedule=None if name == by_hand else "@hourly", start_date=start, catchup=False))
    with create_session() as session:
        for name in (hourly, by_hand, paused):
            session.get(DagModel, name).is_paused = name == paused
    found = AirflowSchedules().next_runs([hourly, by_hand, paused, "unknown"])

    assert set(found) == {hourly, paused}
    assert found[hourly].utcoffset() is not None
    assert found[paused] is None


def test_a_run_goes_on_until_it_ends(runs: Any, dag_id: str) -> None:
    """One that has ended, or that Airflow does not know, does not."""
    with DAG(dag_id, schedule=None) as dag:
        EmptyOperator(task_id="only")
    run = runs.start(dag)
    ended, unknown = (AirflowSchedules().goes_on(dag_id, name) for name in (run.run_id, "never"))
    with create_session() as session:
        session.get(DagRun, run.id).state = DagRunState.QUEUED

    assert (ended, unknown) == (False, False)
    assert AirflowSchedules().goes_on(dag_id, run.run_id)
    assert [AirflowSchedules().has_run(dag_id, name) for name in (run.run_id, "never")] == [True, False]


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
