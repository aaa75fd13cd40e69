"""Whose window a key is: mapped tasks, several groups of a run, runs that share a key, and other DAGs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, task, task_group

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.operators.merge_files import MergeFilesOperator
from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.options import ArchiveSink, Csv, FileSource, ParquetSink, Policies
from airflow_provider_blockread.sensors.new_files import NewFilesSensor
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import lines, values

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]


def test_each_mapped_task_has_a_window_of_its_own(
    runs: Any, dag_id: str, tmp_path: Path, landing: Path, land: Callable[..., None]
) -> None:
    """Sources that are mapped are all read, by each run and by a cleared one."""
    land(a=2, b=3)
    sources = [FileSource(str(landing), pattern=f"{name}*") for name in "ab"]
    with DAG(dag_id, schedule=None) as dag:
        MergeFilesOperator.partial(task_id="merge").expand_kwargs(
            [
                {"source": source, "sink": ArchiveSink(str(tmp_path / name))}
                for source, name in zip(sources, "ab", strict=True)
            ]
        )
        SplitFilesOperator.partial(task_id="plan", sink=ParquetSink(str(tmp_path / "lake"))).expand(source=sources)
    run = runs.start(dag)

    assert set(runs.states(run).values()) == {"success"}
    assert [runs.xcom(run, "merge", map_index=index)["records"] for index in (0, 1)] == [1, 1]
    assert [runs.xcom(run, "plan", "window", map_index=index)["files"] for index in (0, 1)] == [1, 1]
    assert all(list((tmp_path / name).glob("part-*")) for name in "ab")
    again = runs.clear(dag, run)
    assert [runs.xcom(again, "merge", map_index=index)["generation"] for index in (0, 1)] == [2, 2]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("sinks", ["abc", "xxx"])
def test_a_clear_after_the_list_of_a_mapped_task_has_changed(
    runs: Any, dag_id: str, tmp_path: Path, land: Callable[..., None], sinks: str, *, named: bool
) -> None:
    """No item gets the window of another one; they find their own in their old places, or by their names."""
    land(a=2, b=3, c=4)
    name = {"window": "{{ run_id }}/{{ task.source.pattern }}"} if named else {}
    places = dict(zip("abc", sinks, strict=True))

    def make(items: str) -> DAG:
        with DAG(dag_id, schedule=None) as dag:
            MergeFilesOperator.partial(task_id="merge", **name).expand_kwargs(
                [
                    {
                        "source": FileSource(str(tmp_path / "landing"), pattern=f"{item}*"),
                        "sink": ArchiveSink(str(tmp_path / places[item])),
                    }
                    for item in items
                ]
            )
        return dag

    def published() -> set[str]:
        return {str(path) for place in set(sinks) for path in (tmp_path / place).glob("part-*")}

    run = runs.start(make("bc"))
    first = published()
    run = runs.clear(make("abc"), run)
    states = [runs.states(run)[f"merge[{index}]"] for index in range(3)]
    if named:
        assert states == ["success"] * 3
    else:
        assert states[:2] == ["failed"] * 2
        assert first <= published()
        run = runs.clear(make("bca"), run)
        assert set(runs.states(run).values()) == {"success"}
    assert len(published()) == 3
    assert [runs.xcom(run, "merge", map_index=index)["files"] for index in range(3)] == [1] * 3


def test_a_sensor_and_a_merge_in_a_mapped_group(
    runs: Any, dag_id: str, tmp_path: Path, landing: Path, land: Callable[..., None]
) -> None:
    """Sources that are mapped over the group reach both; a cleared run does not wait for new files."""
    land(a=2, b=3)
    with DAG(dag_id, schedule=None) as dag:

        @task_group
        def each(source: Any) -> None:
            wait = NewFilesSensor(task_id="wait", source=source, group="each.merge", poke_interval=0.1, timeout=5)
            wait >> MergeFilesOperator(task_id="merge", source=source, sink=ArchiveSink(str(tmp_path / "all")))

        each.expand(source=[FileSource(str(landing), pattern=f"{name}*") for name in "ab"])
    run = runs.start(dag)
    assert [runs.xcom(run, "each.merge", map_index=index)["records"] for index in (0, 1)] == [1, 1]
    again = runs.clear(dag, run)

    assert set(runs.states(again).values()) == {"success"}
    assert [runs.xcom(again, "each.wait", map_index=index)["why"] for index in (0, 1)] == ["planned"] * 2


def test_two_groups_of_a_run_do_not_share_a_window(
    runs: Any, dag_id: str, tmp_path: Path, landing: Path, land: Callable[..., None]
) -> None:
    """The second one would read nothing of its own: it fails, and says what to set."""
    land(a=2, b=3)

    def make(key: str) -> DAG:
        with DAG(dag_id, schedule=None) as dag:
            first, second = (
                BlockReadTaskGroup(
                    name,
                    source=FileSource(str(landing), pattern=f"{name}*"),
                    sink=ParquetSink(str(tmp_path / name)),
                    feed="both",
                    window=f"{{{{ run_id }}}}{key}",
                    policies=Policies(on_empty="succeed"),
                )
                for name in "ab"
            )
            first >> second
        return dag

    states = runs.states(runs.start(make("")))
    assert (states["a.commit"], states["b.plan"]) == ("success", "failed")
    states = runs.states(runs.start(make("/{{ ti.task_id }}")))
    assert (states["a.commit"], states["b.commit"]) == ("success", "success")
    assert values(tmp_path / "b") == lines(b=3)


def test_a_clear_rebuilds_after_another_run_of_the_key_was_cleared(
    runs: Any, dag_id: str, tmp_path: Path, landing: Path, land: Callable[..., None]
) -> None:
    """Each run counts its own clears."""
    land(a=2)

    def make(codec: str) -> DAG:
        with DAG(dag_id, schedule=None) as dag:
            sink = ParquetSink(str(tmp_path / "lake"), compression=codec)
            BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=sink, window="k")
        return dag

    first = runs.start(make("snappy"))
    runs.clear(make("snappy"), first)
    second = runs.start(make("zstd"))
    assert runs.xcom(second, "logs.plan", "window")["status"] == "published"
    cleared = runs.clear(make("zstd"), second)

    assert runs.xcom(cleared, "logs.commit")["generation"] == 3
    assert values(tmp_path / "lake") == lines(a=2)


def test_what_a_task_returns_is_no_template(runs: Any, dag_id: str, tmp_path: Path, landing: Path) -> None:
    """Names of folders come from outside: where tasks are mapped over them, as elsewhere, they are not rendered."""
    (named := landing / "{{ 6 * 7 }}").mkdir()
    (named / "a.log").write_text("1\n")
    with DAG(dag_id, schedule=None) as dag:

        @task
        def found() -> list[FileSource]:
            return [FileSource(str(named))]

        SplitFilesOperator.partial(task_id="plan", sink=ParquetSink(str(tmp_path / "lake"))).expand(source=found())

    assert runs.xcom(runs.start(dag), "plan", "window", map_index=0)["files"] == 1


def test_a_clear_rebuilds_after_its_run_was_deleted_and_made_again(
    runs: Any, dag_id: str, tmp_path: Path, landing: Path, land: Callable[..., None]
) -> None:
    """Airflow then counts the clears of the run from the start."""
    land(a=2)
    with DAG(dag_id, schedule=None) as dag:
        BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=ParquetSink(str(tmp_path / "lake")))
    first = runs.create(dag, run_id="scheduled__1", run_type="scheduled")
    runs.delete(runs.clear(dag, first))
    again = runs.create(dag, run_id="scheduled__1", run_type="scheduled")
    assert runs.xcom(again, "logs.plan", "window")["status"] == "published"
    cleared = runs.clear(dag, again)

    assert runs.xcom(cleared, "logs.commit")["generation"] == 3
    assert values(tmp_path / "lake") == lines(a=2)


def test_a_run_does_not_move_the_output_of_another_dag(
    runs: Any, dag_id: str, tmp_path: Path, landing: Path, land: Callable[..., None]
) -> None:
    """Under the same feed and key it is refused, since its own output would lack the rows; so is a clear."""
    land(a=2)

    def make(name: str) -> DAG:
        with DAG(f"{dag_id}_{name}", schedule=None) as dag:
            sink = ParquetSink(str(tmp_path / name))
            BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=sink, feed=dag_id, window="k")
        return dag

    runs.start(make("one"))
    other = runs.start(make("two"))
    assert runs.states(other)["logs.plan"] == "failed"
    assert runs.states(runs.clear(make("two"), other))["logs.plan"] == "failed"

    assert values(tmp_path / "one") == lines(a=2)


@pytest.mark.parametrize("feed", ["", "  "])
def test_a_blank_feed_is_refused(runs: Any, dag_id: str, tmp_path: Path, landing: Path, feed: str) -> None:
    """Pipelines of all DAGs would share it."""
    with DAG(dag_id, schedule=None) as dag:
        SplitFilesOperator(task_id="plan", source=FileSource(str(landing)), sink=ParquetSink(str(tmp_path)), feed=feed)

    assert runs.states(runs.start(dag)) == {"plan": "failed"}


def test_a_sensor_names_a_pipeline_of_its_dag(
    runs: Any, dag_id: str, tmp_path: Path, landing: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistyped group has a feed that knows no file, so the sensor would not wait for what its pipeline lacks."""
    source = FileSource(str(landing))
    with DAG(dag_id, schedule=None) as dag:
        BlockReadTaskGroup("logs", source=source, sink=ParquetSink(str(tmp_path / "lake")))
        NewFilesSensor(task_id="wait", source=source, group="lgos", poke_interval=1, timeout=1)
        NewFilesSensor(task_id="alike", source=source, group="lgos", poke_interval=1, timeout=1)

    assert runs.states(runs.start(dag))["wait"] == "failed"
    assert "the DAG has no task group or task 'lgos'; its groups: logs" in capsys.readouterr().out


def test_a_group_takes_what_it_is_not_given_from_default_args(dag_id: str, landing: Path, tmp_path: Path) -> None:
    """As single operators do, so that a sensor and a pipeline use one ledger; but a read always waits for its plan."""
    given = {
        "ledger_conn_id": "shared",
        "deferrable": True,
        "feed": "ours",
        "trigger_rule": "all_done",
        "do_xcom_push": False,
    }
    options: dict[str, Any] = {"source": FileSource(str(landing)), "sink": ParquetSink(str(tmp_path / "lake"))}
    with DAG(dag_id, default_args=given) as dag:
        BlockReadTaskGroup("logs", **options, record_format=Csv(schema="a long"))

    assert {name: dag.get_task(name).ledger_conn_id for name in ("logs.plan", "logs.commit")} == {
        "logs.plan": "shared",
        "logs.commit": "shared",
    }
    assert dag.get_task("logs.plan").feed == "ours"
    assert dag.get_task("logs.plan").do_xcom_push, "reads are mapped over what it returns"
    rules = [dag.get_task(f"logs.{name}").trigger_rule.value for name in ("plan", "scan", "read", "commit")]
    assert rules == ["all_done", "all_success", "all_success", "none_failed_min_one_success"]
    assert dag.get_task("logs.read").unmap({"group": 0}).deferrable is True


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("record_format", "csv", "a FormatOption of airflow_provider_blockread.options, not a value of type str"),
        ("splitting", 5, "a Splitting of"),
        ("policies", {}, "a Policies of"),
        ("source", "/in", "a FileSource of"),
        ("sink", ParquetSink, "a Sink of airflow_provider_blockread.options, not ParquetSink"),
    ],
)
def test_what_is_no_option_is_refused_where_the_dag_is_parsed(name: str, value: Any, wanted: str) -> None:
    """Instead of a traceback of the task at each of its tries."""
    options: dict[str, Any] = {"source": FileSource("/in"), "sink": ParquetSink("/out")}
    with pytest.raises(OptionsError, match=f"plan: {name} must be {wanted}"):
        SplitFilesOperator(task_id="plan", **options | {name: value})


def test_a_group_in_a_dag_that_fails_fast_is_refused_where_it_is_parsed(dag_id: str) -> None:
    """Airflow's own error names neither the task nor what to change; without the option the group is made."""
    group: dict[str, Any] = {"group_id": "logs", "source": FileSource("/in"), "sink": ParquetSink("/out")}
    with DAG(dag_id, fail_fast=True), pytest.raises(OptionsError, match=r"logs: .* leave fail_fast out"):
        BlockReadTaskGroup(**group)
    with DAG(dag_id) as dag:
        BlockReadTaskGroup(**group)
    assert dag.has_task("logs.commit")


def test_a_group_in_a_mapped_group_is_refused_where_the_dag_is_parsed(dag_id: str) -> None:
    """Airflow maps no tasks inside of a mapped group; a loop makes a group for each source."""
    with DAG(dag_id):

        @task_group
        def each(feed: str) -> None:
            BlockReadTaskGroup("logs", source=FileSource("/in"), sink=ParquetSink("/out"), feed=feed)

        with pytest.raises(OptionsError, match=r"each\.logs: Airflow cannot map .* in a loop"):
            each.expand(feed=["a", "b"])
