"""Tasks that are refused for what they are given: what each message asks for is given, and the task works."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_blockread.errors import BlockReadError, OptionsError
from airflow_provider_blockread.ledger.noop import noop_ledger
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.operators.clean_source import CleanSourceOperator
from airflow_provider_blockread.operators.commit_window import CommitWindowOperator
from airflow_provider_blockread.operators.prune_ledger import PruneLedgerOperator
from airflow_provider_blockread.operators.read_blocks import ReadBlocksOperator
from airflow_provider_blockread.operators.scan_blocks import ScanBlocksOperator
from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.operators.upstream import files_of
from airflow_provider_blockread.options import EventFiles, FileList, FileSource, ParquetSink, Selection
from airflow_provider_blockread.sensors.new_files import NewFilesSensor
from airflow_provider_blockread.steps import Environment
from airflow_provider_blockread.steps.watch.new_files import NewFilesQuery
from airflow_provider_blockread.steps.watch.watching import record_hints
from airflow_provider_blockread.storage.stores import Stores
from tests.airflow.found import Found
from tests.airflow.refusals import refused
from tests.airflow.triggering import busy, children, first, trigger
from tests.airflow.triggering import silent as silent  # noqa: PLC0414 - a fixture
from tests.ledgers import open_ledger

pytestmark = pytest.mark.airflow

INTERVAL = (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))


@pytest.fixture
def options(landing: Path, tmp_path: Path, land: Callable[..., None]) -> dict[str, Any]:
    """Where a file is and where records would go."""
    land(a=2)
    return {"source": FileSource(str(landing)), "sink": ParquetSink(str(tmp_path / "lake"))}


def _plan(dag_id: str, options: dict[str, Any], **more: Any) -> DAG:
    with DAG(dag_id) as dag:
        SplitFilesOperator(task_id="plan", **({"feed": dag_id} | options | more))
    return dag


def test_a_key_that_renders_blank(runs: Any, dag_id: str, options: dict[str, Any]) -> None:
    """With a key, or without the option, the run is planned."""
    for number, lacks in enumerate([{"window": "{{ '' }}"}, {"window": "{{ none }}"}, {"feed": "{{ none }}"}]):
        dag = _plan(f"{dag_id}_lacks_{number}", options, **lacks)
        dag.render_template_as_native_obj = bool(number)
        assert str(runs.start(dag).state) == "failed"

    for number, more in enumerate([{"window": "{{ 'a key' }}"}, {}]):
        assert str(runs.start(_plan(f"{dag_id}_{number}", options, **more)).state) == "success"


def test_a_run_without_an_interval(runs: Any, dag_id: str, options: dict[str, Any]) -> None:
    """A timetable that gives intervals, or a selection by arrival."""
    by_time = {"selection": Selection(select="interval")}
    bare = runs.create(_plan(dag_id, options, **by_time), run_id="m", run_type="manual")
    assert str(bare.state) == "failed"

    by_arrival = _plan(f"{dag_id}_arrival", options, selection=Selection(select="arrival"))
    with DAG(f"{dag_id}_cron", schedule=CronDataIntervalTimetable("@daily", timezone="UTC")) as scheduled:
        SplitFilesOperator(task_id="plan", feed="cron", **options, **by_time)
    dated = _plan(f"{dag_id}_dated", options, **by_time)
    for dag, kind, interval in (
        (by_arrival, "manual", None),
        (scheduled, "scheduled", INTERVAL),
        (dated, "manual", INTERVAL),
    ):
        assert str(runs.create(dag, run_id="r", run_type=kind, interval=interval).state) == "success"


@pytest.mark.parametrize(
    ("name", "value"), [("selection", None), ("policies", {"on_empty": "succeed"}), ("source", "/in")]
)
def test_what_tasks_return_in_place_of_options(dag_id: str, options: dict[str, Any], name: str, value: object) -> None:
    """None, a mapping and text are refused by name, as where the DAG is parsed; the sensor does so, too."""
    with DAG(dag_id) as dag:
        plan = SplitFilesOperator(task_id="plan", feed="f", **options)
        sensor = NewFilesSensor(task_id="wait", feed="f", source=options["source"])
    setattr(plan, name, value)  # as Airflow does with a result
    assert f"plan: {name} must be a {name.title()}" in refused(plan._require_kinds).replace("FileS", "S")
    if hasattr(sensor, name):
        setattr(sensor, name, value)
        assert f"wait: {name} must be a" in refused(sensor.query, {"dag": dag})


@pytest.mark.usefixtures("without_spark")
def test_what_a_plan_hands_on(runs: Any, dag_id: str, options: dict[str, Any]) -> None:
    """Its window and the numbers of its groups, which the messages name; anything else is refused by name."""
    window = "window must be what one plan hands on as its XCom `window`, as in window=plan.output"
    for given, group, said in (
        ([0], 0, window),
        ("{'window': 'ab12'}", 0, window),
        ({"window": "ab"}, [0], "group must"),
    ):
        tasks: list[Any] = [ReadBlocksOperator(task_id="task", window=given, group=group)]
        if group == 0:
            tasks += [kind(task_id="task", window=given) for kind in (ScanBlocksOperator, CommitWindowOperator)]
        assert all(f"task: {said}" in refused(task.run_step, {}) for task in tasks)

    with DAG(dag_id) as dag:
        plan = SplitFilesOperator(task_id="plan", **options)
        shared = options | {"window": plan.output["window"]}
        scan = ScanBlocksOperator(task_id="scan", **shared)
        read = ReadBlocksOperator.partial(task_id="read", **shared).expand(group=plan.output)
        scan >> read >> CommitWindowOperator(task_id="commit", trigger_rule="none_failed_min_one_success", **shared)
    assert runs.states(runs.start(dag)) == dict.fromkeys(("plan", "scan", "read[0]", "commit"), "success")


def test_a_template_without_a_value(dag_id: str, options: dict[str, Any]) -> None:
    """An archive in a folder None, wherever the task runs, is no archive; with a value it is one."""
    with DAG(dag_id):
        archive = {"action": "archive", "archive": "{{ params.archive }}"}
        clean = CleanSourceOperator(task_id="clean", feed="f", source=options["source"], **archive)
    with pytest.raises(AirflowFailException, match=r"clean: {{ params.archive }} is None after rendering; give"):
        clean.render_template_fields({"params": {"archive": None}})
    clean.render_template_fields({"params": {"archive": "/archive"}})
    assert clean.archive == "/archive"


@pytest.mark.parametrize("template", ["{{ params.prefix }}", "{{ params['prefix' }}"])
def test_a_template_that_cannot_be_rendered(dag_id: str, options: dict[str, Any], template: str) -> None:
    """The error names the option, and no retry is made; corrected, it is rendered."""
    with DAG(dag_id):
        task = SplitFilesOperator(task_id="plan", **options | {"source": FileSource("/in", pattern=template)})
    with pytest.raises(
        AirflowFailException, match=r"file_source: pattern: {{ params.* cannot be rendered \(.*; correct"
    ):
        task.render_template_fields({"params": {}})

    task.source = FileSource("/in", pattern="{{ params.prefix }}")
    task.render_template_fields({"params": {"prefix": "a*"}})
    assert task.source == FileSource("/in", pattern="a*")


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (partial(CleanSourceOperator, feed="f", action="delete"), "dry_run"),
        (PruneLedgerOperator, "dry_run"),
        (PruneLedgerOperator, "keep_manifests"),
        (partial(ScanBlocksOperator, window={}), "deferrable"),
        (partial(NewFilesSensor, source=FileSource("/in"), feed="f"), "deferrable"),
    ],
)
def test_what_is_true_or_false_is_no_template(make: Callable[..., Any], name: str) -> None:
    """A text is true, whatever it is rendered to: a task would only ever say what it would do."""
    with pytest.raises(OptionsError, match=rf"upkeep: {name} must be True or False .*, not '{{{{ params.x }}}}'; to"):
        make(task_id="upkeep", **{name: "{{ params.x }}"})
    with DAG("branched"):
        assert [make(task_id=f"upkeep_{value}", **{name: value}).task_id for value in (True, False)]


@pytest.mark.parametrize("lacking", ["source", "sink", "cleaning"])
def test_options_of_tasks(runs: Any, dag_id: str, options: dict[str, Any], lacking: str) -> None:
    """With what the message asks for, the task works."""

    def task(dag_id: str, given: dict[str, Any]) -> DAG:
        with DAG(dag_id) as dag:
            if lacking == "cleaning":
                CleanSourceOperator(task_id="t", feed="f", action="delete", **given)
            else:
                SplitFilesOperator(task_id="t", feed="f", **given)
        return dag

    runs.start(_plan(f"{dag_id}_plan", options, feed="f"))  # so that the feed is known
    missing = "source" if lacking == "cleaning" else lacking
    assert str(runs.start(task(dag_id, options | {missing: None})).state) == "failed"

    assert str(runs.start(task(f"{dag_id}_right", options)).state) == "success"


def test_what_upstream_hands_over(
    runs: Any, dag_id: str, options: dict[str, Any], landing: Path, tmp_path: Path
) -> None:
    """A list of paths or objects, its JSON text, a file that lists them, an empty list, or no list at all."""
    for wrong in (None, "no list", 7):
        with pytest.raises(OptionsError, match=r"let that task return a list|must be a list of paths"):
            files_of(wrong, {}, print)  # type: ignore[typeddict-item]
    path = f"{landing}/a.log"
    (tmp_path / "list.txt").write_text(f"{path}\n")
    right: list[tuple[Any, int]] = [
        ([path], 1),
        ([{"path": path}], 1),
        ("{{ [params.path] | tojson }}", 1),
        (FileList(f"{tmp_path}/list.txt"), 1),
        ([], 0),
    ]
    for number, (files, count) in enumerate(right):
        with DAG(f"{dag_id}_{number}", params={"path": path}) as dag:
            given = Found(task_id="found", found=files).output if isinstance(files, list) else files
            SplitFilesOperator(task_id="plan", feed=dag.dag_id, files=given, **options)
        assert runs.xcom(runs.start(dag), "plan", "window")["files"] == count
    assert runs.xcom(runs.start(_plan(dag_id, options)), "plan", "window")["files"] == 1


def test_events_without_paths(runs: Any, dag_id: str, options: dict[str, Any], landing: Path) -> None:
    """With the right key, or another producer, the plan finds the paths."""
    asset = Asset(name=dag_id, uri=f"x-files://{dag_id}")

    def consumed(key: str, extras: dict[str, Any]) -> Any:
        with DAG(f"{dag_id}_{key}_{len(extras)}_producer") as producer:
            Found(task_id="found", found=None, extras=extras, outlets=[asset])
        runs.start(producer)
        with DAG(f"{dag_id}_{key}_{len(extras)}", schedule=[asset]) as dag:
            SplitFilesOperator(task_id="plan", files=EventFiles(key=key), **options)
        return runs.create(dag, run_id="asset__1", run_type="asset_triggered", consumes=[asset.uri])

    files = [f"{landing}/a.log"]
    assert str(consumed("wrong", {"files": files}).state) == "failed"
    runs_events = runs.asset_events(asset.uri)
    assert runs_events[-1] == {"files": files}

    assert str(consumed("files", {"files": files}).state) == "success"


@pytest.mark.parametrize("given", [{"group": "logs"}, {"feed": "logs"}])
def test_a_sensor_that_knows_no_feed(given: dict[str, str]) -> None:
    """Either of the two that the message asks for."""
    with pytest.raises(OptionsError, match=r"give group \(the pipeline's group_id in this DAG\) or feed"):
        NewFilesSensor(task_id="wait", source=FileSource("/in"))

    assert NewFilesSensor(task_id="wait", source=FileSource("/in"), **given).task_id == "wait"


def test_a_watch_whose_ledger_forgets(landing: Path, land: Callable[..., None], tmp_path: Path) -> None:
    """With a ledger that remembers it records what has come."""
    land(a=1)
    query = NewFilesQuery(feed="feed", source=FileSource(str(landing)))
    body = f'{{"eventType": "x", "data": {{"url": "file://{landing}/a.log"}}}}'
    noop = noop_ledger(tmp_path, "run")
    with pytest.raises(BlockReadError, match="another for it and its pipeline"):
        record_hints(Environment(ledger=noop, stores=Stores(), observer=LogObserver(print)), query, [body])
    noop.close()
    ledger = open_ledger(f"sqlite:///{tmp_path}/ledger.db")
    record_hints(Environment(ledger=ledger, stores=Stores(), observer=LogObserver(print)), query, [body])
    ledger.close()


def test_a_helper_that_ended(silent: FileSource, landing: Path, land: Callable[..., None]) -> None:
    """The look that is tried again has a new helper, and finds what is there."""
    land(a=1)

    async def killed() -> Any:
        task = asyncio.ensure_future(first(trigger(silent)))
        await busy()
        await trigger(FileSource("/nowhere")).poll()
        for child in children():
            child.kill()
        return await task, await trigger(FileSource(str(landing))).poll()

    event, found = asyncio.run(killed())
    assert "try again" in event["message"]
    assert found
