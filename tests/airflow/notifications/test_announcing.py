"""Tasks that die after their publication: the output's readers hear of it all the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset

from airflow_provider_blockread.operators.merge_files import MergeFilesOperator
from airflow_provider_blockread.operators.publishing import PublishingOperator
from airflow_provider_blockread.options import FileSource, ParquetSink, Policies
from airflow_provider_blockread.task_group import BlockReadTaskGroup

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]


class LostError(Exception):
    """A worker is gone."""


@pytest.fixture
def die_once(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What lets the first task that calls a method of a publishing operator die there."""

    def install(method: str, *, after: bool = False) -> None:
        real: Callable[..., Any] = getattr(PublishingOperator, method)
        calls = []

        def dying(*args: Any) -> Any:
            calls.append(method)
            if len(calls) > 1:
                return real(*args)
            if after:
                real(*args)
            raise LostError

        monkeypatch.setattr(PublishingOperator, method, dying)

    return install


@pytest.fixture
def where(landing: Path, lake: Path, land: Callable[..., None]) -> dict[str, Any]:
    """A source with two files, and an output."""
    land(a=5, b=3)
    return {"source": FileSource(str(landing)), "sink": ParquetSink(str(lake))}


@pytest.mark.parametrize("dies", ["before its event", "before its end"])
def test_the_retry_of_a_merge_announces_what_it_finds_published(
    runs: Any, dag_id: str, where: dict[str, Any], lake: Path, die_once: Callable[..., None], dies: str
) -> None:
    """It plans again and finds its window published; a clear that skips the window makes no further event."""
    with DAG(dag_id) as dag:
        MergeFilesOperator(
            task_id="merge",
            policies=Policies(on_rerun="skip"),
            outlets=[Asset(lake.as_uri())],
            retries=1,
            retry_delay=timedelta(0),
            **where,
        )
    die_once("_emit") if dies == "before its event" else die_once("publish", after=True)
    run = runs.start(dag)
    events = runs.asset_events(lake.as_uri())
    cleared = runs.clear(dag, run)

    assert runs.states(run) == {"merge": "success"}
    assert [(event["generation"], event["rows"]) for event in events] == [(1, 2)]
    assert runs.states(cleared) == {"merge": "success"}
    assert runs.asset_events(lake.as_uri()) == events


@pytest.mark.parametrize("rule", ["rebuild", "verify", "skip"])
def test_a_cleared_run_announces_what_its_task_could_not(
    runs: Any, dag_id: str, where: dict[str, Any], lake: Path, die_once: Callable[..., None], rule: str
) -> None:
    """Whatever the clear does about the published window, there is one event about what readers see."""
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", policies=Policies(on_rerun=rule), **where)
    die_once("_emit")
    run = runs.start(dag)
    states, found = [runs.states(run)["logs.commit"]], []
    for _ in range(2):
        run = runs.clear(dag, run)
        states.append(runs.states(run)["logs.commit"])
        found.append([(event["generation"], event["rows"]) for event in runs.asset_events(lake.as_uri())])

    assert states == ["failed", "success", "success"]
    assert found == ([[(2, 8)], [(2, 8), (3, 8)]] if rule == "rebuild" else [[(1, 8)], [(1, 8)]])


def test_another_run_announces_what_the_first_could_not(
    runs: Any, dag_id: str, where: dict[str, Any], lake: Path, die_once: Callable[..., None]
) -> None:
    """Both have the same window, and the second one finds it published."""
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", window="2026-01-01", **where)
    die_once("_emit")
    states = [runs.states(runs.start(dag))["logs.commit"] for _ in range(3)]

    assert states == ["failed", "success", "success"]
    assert [event["rows"] for event in runs.asset_events(lake.as_uri())] == [8]
