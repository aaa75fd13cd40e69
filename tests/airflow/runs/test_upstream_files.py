"""Paths from upstream inside Airflow: from tasks, templates, lists in files, and asset events."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.operators.upstream import files_of
from airflow_provider_blockread.options import EventFiles, FileList, FileSource, ParquetSink
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.found import Found

pytestmark = pytest.mark.airflow


@pytest.fixture
def options(landing: Path, tmp_path: Path) -> dict[str, Any]:
    """Where files come from and where records would go."""
    return {"source": FileSource(str(landing)), "sink": ParquetSink(str(tmp_path / "lake"))}


@pytest.fixture
def three(land: Callable[..., None], landing: Path) -> list[str]:
    """The paths of three files."""
    land(a=2, b=2, c=2)
    return [f"{landing}/{name}.log" for name in "abc"]


A, B, C = "/in/a", "/in/b", "/in/c"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], []),
        ([A, B], [A, B]),
        ([{"path": A, "size": 1}, B], [A, B]),
        ([[A], [{"path": A}, B], []], [A, A, B]),
        ({"files": 2, "bytes": 9, "paths": [A, B]}, [A, B]),
        ({"files": 9, "bytes": 9, "paths": [A]}, None),
        ({"paths": [A]}, [A]),
        (json.dumps([A, {"path": B}]), [A, B]),
        (json.dumps({"files": 9, "paths": [A]}), None),
        (FileList("list.txt"), FileList("list.txt")),
    ],
)
def test_paths_come_in_several_forms(given: Any, expected: Any) -> None:
    """Lists of texts or objects, nested ones, what a sensor found; where that names some only, the source is listed."""
    assert files_of(given, {}, print) == expected  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    "given", ["not json", "[" * 500_000, "", "None", 7, [7], {"path": 1}, [None], [[""]], b"[]", {"paths": 1}]
)
def test_what_names_no_paths_is_refused(given: Any) -> None:
    """The message says what is wanted."""
    with pytest.raises(OptionsError, match="files must be a list of paths, or of objects with a `path`"):
        files_of(given, {}, print)  # type: ignore[typeddict-item]


def test_no_list_is_no_listing(runs: Any, dag_id: str, options: dict[str, Any], three: list[str]) -> None:
    """A task that returned nothing has not chosen every file: the plan fails, mapped or in a group, and takes none."""
    with pytest.raises(OptionsError, match="upstream gave no list"):
        files_of(None, {}, print)  # type: ignore[typeddict-item]
    with DAG(dag_id) as dag:
        found = Found(task_id="found", found=None)
        SplitFilesOperator(task_id="plan", files=found.output, **options)
        SplitFilesOperator.partial(task_id="each", **options).expand(files=[None, three[:1]])
        BlockReadTaskGroup("logs", files=found.output, **options)

    states = runs.states(runs.start(dag))
    assert [states[name] for name in ("plan", "each[0]", "each[1]", "logs.plan")] == [
        *["failed"] * 2,
        "success",
        "failed",
    ]


def test_what_a_task_hands_over_is_planned(runs: Any, dag_id: str, options: dict[str, Any], three: list[str]) -> None:
    """Objects, as sensors return them, through an XCom."""
    with DAG(dag_id) as dag:
        found = Found(task_id="found", found=[{"path": path, "size": 1} for path in three[:2]])
        SplitFilesOperator(task_id="plan", files=found.output, **options)

    assert runs.xcom(runs.start(dag), "plan", "window")["files"] == 2


def test_a_group_hands_the_list_to_its_plan(dag_id: str, options: dict[str, Any]) -> None:
    """The same forms serve a whole pipeline."""
    listed = FileList("s3://bucket/list.jsonl")
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", files=listed, **options)

    assert dag.get_task("logs.plan").files == listed


def test_a_list_in_a_file_is_planned_with_its_own_connection(
    runs: Any, dag_id: str, options: dict[str, Any], three: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its place is a template, its connection is looked up, and however long it is, no XCom holds it."""
    (tmp_path / "found.txt").write_text("\n".join([*three[:2], *three[:2]]))
    monkeypatch.setenv("AIRFLOW_CONN_LISTS", json.dumps({"conn_type": "fs"}))
    listed = FileList(f"{tmp_path}/{{{{ 'found' }}}}.txt", conn_id="lists")
    with DAG(dag_id) as dag:
        SplitFilesOperator(task_id="plan", files=listed, **options)
    with DAG(f"{dag_id}_lost") as lost:
        SplitFilesOperator(task_id="plan", files=FileList(f"{tmp_path}/none.txt"), **options)

    assert runs.xcom(runs.start(dag), "plan", "window")["files"] == 2
    assert str(runs.start(lost).state) == "failed"


def test_the_paths_of_merged_events_are_planned_together(
    runs: Any, dag_id: str, options: dict[str, Any], three: list[str]
) -> None:
    """Two events started one run: the files of both are read; a run without events lists the source.

    Events of another asset name no files, and the source is not listed for them.
    """
    asset, other = Asset(name=dag_id, uri=f"x-files://{dag_id}"), Asset(name=f"{dag_id}_2", uri=f"x-files://{dag_id}_2")
    for number, (outlet, extras) in enumerate(
        [
            (asset, {"paths": three[:1]}),
            (asset, {"from_trigger": True, "payload": {"files": 1, "paths": three[1:2]}}),
            (other, {"other": 1}),
        ]
    ):
        with DAG(f"{dag_id}_{number}_producer") as producer:
            Found(task_id="found", found=None, extras=extras, outlets=[outlet])
        runs.start(producer)
    with DAG(dag_id, schedule=[asset, other]) as dag:
        SplitFilesOperator(task_id="plan", files=EventFiles(asset=dag_id), **options)
    run = runs.create(dag, run_id="asset__1", run_type="asset_triggered", consumes=[asset.uri, other.uri])
    by_other = runs.create(dag, run_id="asset__2", run_type="asset_triggered", consumes=[other.uri])
    again = runs.create(dag, run_id="manual__1", run_type="manual")

    assert runs.xcom(run, "plan", "window")["files"] == 2
    assert runs.xcom(by_other, "plan", "window")["files"] == 0
    assert runs.xcom(again, "plan", "window")["files"] == 1
    with DAG(f"{dag_id}_any", schedule=[asset, other]) as loose:
        SplitFilesOperator(task_id="plan", files=EventFiles(), **options)
    failed = runs.create(loose, run_id="asset__1", run_type="asset_triggered", consumes=[asset.uri, other.uri])
    assert str(failed.state) == "failed"


def test_files_that_are_named_for_a_frozen_window(
    runs: Any, dag_id: str, options: dict[str, Any], three: list[str]
) -> None:
    """A run made again, a second run of a partition, and a clear name other files, which the next window takes."""

    def make(named: list[str], window: str) -> DAG:
        with DAG(dag_id) as dag:
            found = Found(task_id="found", found=named)
            SplitFilesOperator(task_id="plan", files=found.output, window=window, **options)
        return dag

    first = runs.create(make(three[:1], "k"), run_id="manual__1", run_type="manual")
    runs.delete(first)
    again = runs.create(make(three[1:2], "k"), run_id="manual__1", run_type="manual")
    messages = [runs.xcom(again, "plan", "window")["message"]]
    second = runs.start(make(three[2:], "k"))
    messages.append(runs.xcom(second, "plan", "window")["message"])
    cleared = runs.clear(make(three[1:], "k"), again)
    messages.append(runs.xcom(cleared, "plan", "window")["message"])
    last = runs.xcom(runs.start(make([], "l")), "plan", "window")

    assert ["named file" in message.partition("not in window")[0] for message in messages] == [True, True, True]
    assert last["files"] == 2
