"""What clearing some tasks of a run does, in each state that its window may be in. Applications run without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, BaseOperator

from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.options import ArrowFunction, AsRead, FileSource, ParquetSink, SparkJob, Splitting
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import lines, values

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]

FUNCTION = """
from pathlib import Path
def keep(batch):
    assert Path({fixed!r}).exists() or "b 0" not in batch["value"].to_pylist(), "no b"
    return batch
"""
SUCCESS, FAILED, SKIPPED, UPSTREAM = "success", "failed", "skipped", "upstream_failed"

#: State of the window -> how it begins, and what each clear makes of the last read, the commit and the window.
#: A window is described by the generation that is published, and the newest one with its state.
STORIES: dict[str, list[tuple[str, str, str, str]]] = {
    "unpublished": [
        ("", FAILED, UPSTREAM, "None, 1 reading"),
        ("plan", FAILED, UPSTREAM, "None, 1 reading"),
        ("commit", FAILED, UPSTREAM, "None, 1 reading"),
        ("read", SUCCESS, UPSTREAM, "None, 1 reading"),
        ("commit", SUCCESS, SUCCESS, "1, 1 published"),
    ],
    "failed": [
        ("", SUCCESS, FAILED, "None, 1 failed"),
        ("plan", SUCCESS, FAILED, "None, 1 failed"),
        ("commit", SUCCESS, FAILED, "None, 1 failed"),
        ("read", SUCCESS, FAILED, "None, 1 reading"),
        ("commit", SUCCESS, SUCCESS, "1, 1 published"),
    ],
    "unpublished, then all": [
        ("", FAILED, UPSTREAM, "None, 1 reading"),
        ("all", SUCCESS, SUCCESS, "1, 1 published"),
    ],
    "failed, then all": [
        ("", SUCCESS, FAILED, "None, 1 failed"),
        ("all", SUCCESS, SUCCESS, "1, 1 published"),
    ],
    "published": [
        ("", SUCCESS, SUCCESS, "1, 1 published"),
        ("commit", SUCCESS, SUCCESS, "1, 1 published"),
        ("read", SKIPPED, SUCCESS, "1, 1 published"),
        ("plan", SKIPPED, SUCCESS, "1, 2 reading"),
        ("all", SUCCESS, SUCCESS, "2, 2 published"),
    ],
    "empty": [
        ("", SKIPPED, SKIPPED, "empty"),
        ("commit", SKIPPED, SKIPPED, "empty"),
        ("read", SKIPPED, SKIPPED, "empty"),
        ("plan", SKIPPED, SKIPPED, "None, 1 reading"),
        ("all", SUCCESS, SUCCESS, "1, 1 published"),
    ],
}


class Harm(BaseOperator):
    """Takes a staged file away, until a file `fixed` exists beside the output."""

    def __init__(self, *, folder: Path, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.folder = folder

    def execute(self, context: Any) -> None:  # noqa: ARG002 - Airflow's
        """Do the harm."""
        if not (self.folder / "fixed").exists():
            (staged,) = (self.folder / "lake.blockread").rglob("00001-e1/data/*.parquet")
            staged.unlink()


@pytest.fixture
def make_dag(dag_id: str, landing: Path, tmp_path: Path) -> Callable[[str], DAG]:
    """What makes a DAG whose first run ends in a state; `fixed` removes the cause."""

    def make(state: str) -> DAG:
        module = tmp_path / f"functions_{dag_id}.py"
        module.write_text(FUNCTION.format(fixed=str(tmp_path / "fixed")))
        with DAG(dag_id) as dag:
            BlockReadTaskGroup(
                "logs",
                source=FileSource(str(landing)),
                sink=ParquetSink(str(tmp_path / "lake")),
                function=ArrowFunction(f"{module.stem}:keep") if state.startswith("unpublished") else AsRead(),
                splitting=Splitting(group_bytes=1),
                spark=SparkJob(master="local[1]", py_files=[str(module)]),
            )
            if state.startswith("failed"):
                dag.get_task("logs.read") >> Harm(task_id="harm", folder=tmp_path) >> dag.get_task("logs.commit")
        return dag

    return make


@pytest.mark.parametrize("state", STORIES)
def test_clearing(
    runs: Any, make_dag: Callable[[str], DAG], land: Callable[..., None], tmp_path: Path, state: str
) -> None:
    """Each task cleared alone, then what is missing: nothing is lost, doubled or published before it is proven."""
    files = {"a": 3, "b": 3}
    if state != "empty":
        land(**files)
    dag = make_dag(state)
    run = runs.start(dag)
    found = [("", *after(runs, dag, run))]
    fix = tmp_path / "fixed"
    if state == "empty":
        land(**files)
    for what, *_ in STORIES[state][1:]:
        if what in {"read", "all"}:
            fix.touch()
        read: str | tuple[str, int] = "logs.read" if state == "empty" else ("logs.read", 1)
        tasks = {"plan": ["logs.plan"], "read": [read], "commit": ["logs.commit"], "all": None}[what]
        run = runs.clear(dag, run, tasks)
        found.append((what, *after(runs, dag, run)))
        shown = values(tmp_path / "lake")
        assert shown == (lines(**files) if found[-1][-1][0].isdigit() else [])

    assert found == STORIES[state]


def test_a_run_whose_xcoms_are_gone_is_cleared_from_its_plan_on(
    runs: Any, make_dag: Callable[[str], DAG], land: Callable[..., None], tmp_path: Path
) -> None:
    """As `airflow db clean` removes them: a task alone does not find its window, the plan does."""
    land(a=3, b=3)
    dag = make_dag("published")
    (tmp_path / "fixed").touch()
    run = runs.start(dag)
    runs.forget(run)
    run = runs.clear(dag, run, [("logs.read", 1), "logs.commit"])
    assert after(runs, dag, run) == (FAILED, UPSTREAM, "1, 1 published")
    run = runs.clear(dag, run)

    assert after(runs, dag, run) == (SUCCESS, SUCCESS, "2, 2 published")
    assert values(tmp_path / "lake") == lines(a=3, b=3)


def after(runs: Any, dag: DAG, run: Any) -> tuple[str, str, str]:
    """Return how the last read, the commit and the window are."""
    states = runs.states(run)
    (window,) = list_windows(LedgerHook().get_conn(), f"{dag.dag_id}.logs")
    newest, shown = window.generation, window.shown and window.shown.number
    described = f"{shown}, {newest.number} {newest.state}" if newest else window.window.state
    return states.get("logs.read[1]") or states["logs.read"], states["logs.commit"], described
