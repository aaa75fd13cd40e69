"""The tabs of a run and a task that are opened before the plan has made a window."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from starlette.testclient import TestClient

from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.steps.model import Environment
from tests.ledger.make import FEED, freeze_window, pending, plan, publish, version
from tests.pages.visitors import Person, site_of

RUN = "dag_id=load&run_id=manual__1"


@dataclass
class Going:
    """Runs of Airflow, some of which go on."""

    runs: set[str]

    def next_runs(self, dags: Collection[str]) -> Mapping[str, datetime | None]:  # noqa: ARG002
        """Return nothing."""
        return {}

    def goes_on(self, dag: str, run: str) -> bool:
        """Return whether it is among those."""
        return f"{dag}/{run}" in self.runs


def test_a_tab_waits_for_the_window_of_a_run_that_goes_on(env: Environment) -> None:
    """One that is opened before the plan is asked for again until the run ends; of a hidden DAG nothing is told."""
    going = Going({"load/manual__1"})

    def asked(person: Person, place: str) -> tuple[bool, str, bool]:
        tabs = TestClient(make_app(replace(site_of(env, person), schedules=going)))
        live, text = tabs.get(f"/tabs/{place.replace('?', '/live?')}").json(), tabs.get(f"/tabs/{place}").text
        return live["moving"], live["state"], 'data-moving="true"' in text and "/live?" in text

    tabs = [f"run?{RUN}", f"task?{RUN}&task_id=logs.read&map_index=0"]
    before = [asked(Person(), place) for place in tabs]
    hidden = [asked(Person(sees=set()), place) for place in tabs]
    record_files(env.ledger, FEED, [version("a")], complete=False)
    planned = replace(plan("k1", files=1, owner="load/manual__1/logs.plan/-1"), run="load/manual__1")
    publish(env.ledger, freeze_window(env.ledger, planned, pending(env.ledger)))
    other = asked(Person(), tabs[0])  # it may plan one more
    going.runs.clear()
    after = [asked(Person(), place) for place in (*tabs, "run?dag_id=load&run_id=manual__2")]

    assert before == [(True, "", True)] * 2
    assert hidden == [(False, "", False)] * 2
    assert other == (True, "published", True)
    assert after == [(False, "published", False), (False, "done", False), (False, "", False)]
