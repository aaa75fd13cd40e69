"""Whole runs of `@blockread` by `dag.test()`: the function is in the DAG's file, and its text reaches Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG, Connection

from tests.airflow.published import SUCCESS

pytestmark = pytest.mark.airflow

HEAD = """\
from airflow.sdk import DAG
from airflow_provider_blockread.decorators import blockread
from airflow_provider_blockread.options import FileSource, Policies, SparkJob, Splitting, TextSink

SOURCE, SINK = FileSource(LANDING), TextSink(LAKE)
SPARK = SparkJob(master="local[1]", conf={"spark.ui.enabled": "false"})
"""
LOGS = """
with DAG(DAG_ID):

    @blockread(source=SOURCE, sink=SINK, spark=SPARK)
    def logs(batch: "pa.RecordBatch", word=" 1") -> "pa.RecordBatch":
        import pyarrow.compute as pc

        return batch.filter(pc.ends_with(batch["value"], word))

    logs()
"""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Where records are published."""
    return tmp_path / "lake"


@pytest.fixture
def parse(dag_id: str, tmp_path: Path, landing: Path, lake: Path) -> Callable[[str], Any]:
    """What writes the DAG's file and parses it as Airflow does."""
    from airflow.dag_processing.dagbag import DagBag

    def parsed(text: str) -> Any:
        path = tmp_path / "mine.py"
        path.write_text(f"DAG_ID, LANDING, LAKE = {(dag_id, str(landing), str(lake))}\n{HEAD}{text}")
        bag = DagBag(path)
        assert not bag.import_errors, bag.import_errors
        return bag.dags[dag_id]

    return parsed


def published(lake: Path) -> list[str]:
    """Return the lines of all files, sorted."""
    return sorted(line for path in lake.glob("*.txt") for line in path.read_text().splitlines())


@pytest.mark.spark
def test_a_function_of_the_dag_runs_in_spark(
    runs: Any, parse: Callable[[str], DAG], land: Callable[..., None], lake: Path
) -> None:
    """The decorated function is the group of plan, read and commit; other code in its file changes nothing."""
    land(a=12)
    run = runs.start(parse(LOGS))
    before = published(lake)
    again = runs.clear(parse("import os\n" + LOGS), run)

    assert runs.states(run) == SUCCESS
    assert (before, published(lake)) == (["a 1"], ["a 1"])
    assert runs.xcom(run, "logs.commit")["rows"] == 1
    assert runs.xcom(again, "logs.plan", "window")["generation"] == 2


@pytest.mark.usefixtures("without_spark")
def test_a_changed_function_is_a_new_generation(
    runs: Any, parse: Callable[[str], DAG], land: Callable[..., None], lake: Path
) -> None:
    """A run that failed goes on in the same generation, or in a new one where the text has changed."""
    land(a=12)
    wrong = LOGS.replace("return", "assert False, batch.num_rows\n        return")
    generations = []
    run = runs.start(parse(wrong))
    states = runs.states(run)
    for text in ("\n\n" + wrong, LOGS, LOGS.replace(" 1", " 2")):
        run = runs.clear(parse(text), run)
        generations.append(runs.xcom(run, "logs.plan", "window")["generation"])

    assert states == {"logs.plan": "success", "logs.read[0]": "failed", "logs.commit": "upstream_failed"}
    assert generations == [1, 2, 3]
    assert published(lake) == ["a 2"]


@pytest.mark.usefixtures("without_spark")
def test_a_read_with_another_text_than_planned(
    runs: Any, parse: Callable[[str], DAG], land: Callable[..., None], lake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A read that is cleared by itself says that its plan must be cleared too; then the new text is used."""
    land(a=12)
    run = runs.start(parse(LOGS.replace("return", "assert False\n        return")))
    run = runs.clear(parse(LOGS), run, [("logs.read", 0)])
    states = runs.states(run)
    run = runs.clear(parse(LOGS), run)

    assert states["logs.read[0]"] == "failed"
    assert "its function logs has changed since this generation was planned" in capfd.readouterr().out
    assert runs.states(run) == SUCCESS
    assert published(lake) == ["a 1"]


@pytest.mark.usefixtures("without_spark")
def test_functions_of_one_dag(
    runs: Any, parse: Callable[[str], DAG], land: Callable[..., None], lake: Path, dag_id: str
) -> None:
    """Each call is a group and a feed of its own; arguments of the call replace those of the decorator."""
    land(a=3)
    dag = parse(
        LOGS.replace("LAKE", "LAKE + '/1'")
        + """
    second = logs(group_id="second", sink=TextSink(LAKE + "/2"), feed="twos")

    @blockread(source=SOURCE, sink=TextSink(LAKE + "/3"), spark=SPARK, kind="arrow")
    def third(batch):
        return batch.slice(2)

    second >> third()
"""
    )
    run = runs.start(dag)
    windows = {name: runs.xcom(run, f"{name}.plan", "window") for name in ("logs", "second", "third")}

    assert str(run.state) == "success"
    assert [window["feed"] for window in windows.values()] == [f"{dag_id}.logs", "twos", f"{dag_id}.third"]
    assert dag.get_task("third.plan").upstream_task_ids == {"second.commit"}
    assert [published(lake / name) for name in "23"] == [["a 1"], ["a 2"]]


def test_options_of_the_function_are_replaced_by_a_call(parse: Callable[[str], DAG]) -> None:
    """So are those of the group; the function itself stays."""
    dag: Any = parse(LOGS + '    logs(group_id="second", columns=["_file"], schema="value string", window="w")\n')
    first, second = (dag.get_task(f"{name}.plan") for name in ("logs", "second"))

    assert (first.function.columns, first.function.schema, first.window) == ((), None, None)
    assert (second.function.columns, second.function.schema, second.window) == (["_file"], "value string", "w")
    assert second.function.path == first.function.path
    for other in ("function=None", "path='a:b'"):
        with pytest.raises(AssertionError, match=r"TypeError: .*(function|path)"):
            parse(LOGS + f'    logs(group_id="third", {other})\n')


def test_a_second_call_needs_an_id(parse: Callable[[str], DAG]) -> None:
    """Airflow refuses two groups of one id; a suffix that it chose would name a feed by the order of the calls."""
    with pytest.raises(AssertionError, match=r"DuplicateTaskIdFound: group_id .* has already been added to the DAG"):
        parse(LOGS + "    logs()\n")


def test_options_reach_their_tasks(parse: Callable[[str], DAG]) -> None:
    """Those of the group, of its function and of Airflow's task groups."""
    dag: Any = parse(
        '''
with DAG(DAG_ID):

    @blockread(
        source=SOURCE,
        sink=SINK,
        policies=Policies(on_empty="succeed"),
        splitting=Splitting(block_size=7),
        window="{{ ds }}",
        schema="value string",
        columns=["_block"],
        tooltip="mine",
        deferrable=True,
        default_args={"retries": 3},
        group_id="other",
    )
    def logs(batch, kind="RecordBatch") -> "RecordBatch | None":
        """Return nothing."""

    logs()
'''
    )
    plan, read, commit = (dag.get_task(f"other.{name}") for name in ("plan", "read", "commit"))

    assert (plan.window, plan.splitting.block_size, commit.on_empty, commit.retries) == ("{{ ds }}", 7, "succeed", 3)
    assert (plan.function.schema, plan.function.columns, plan.function.path.name) == (
        "value string",
        ["_block"],
        "logs",
    )
    assert (read.partial_kwargs["function"], read.partial_kwargs["deferrable"]) == (plan.function, True)
    assert dag.task_group.get_child_by_label("other").tooltip == "mine"


@pytest.mark.usefixtures("without_spark")
def test_an_error_names_the_line_of_the_dag(
    runs: Any, parse: Callable[[str], DAG], land: Callable[..., None], lake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """An import that fails in Spark is one line, with the file and the line in which it stands."""
    land(a=1)
    text = LOGS.replace("import pyarrow.compute as pc", "import nowhere.compute as pc")
    line = (HEAD + text).splitlines().index("        import nowhere.compute as pc") + 2
    run = runs.start(parse(text))
    says = f"function logs raised ModuleNotFoundError: No module named 'nowhere' (mine.py, line {line}) on the record"

    assert runs.states(run)["logs.read[0]"] == "failed"
    assert says in capfd.readouterr().out
    assert not lake.exists()


@pytest.mark.parametrize("deferrable", [False, True])
def test_a_driver_on_the_cluster_gets_no_text(
    runs: Any,
    parse: Callable[[str], DAG],
    land: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    deferrable: bool,
) -> None:
    """A private file reaches no other host, and the work area is open to others: deploy mode cluster is refused."""
    land(a=1)
    cluster = Connection(conn_id="c", conn_type="spark", host="yarn", extra='{"deploy-mode": "cluster"}')
    monkeypatch.setenv("AIRFLOW_CONN_BLOCKREAD_CLUSTER", cluster.get_uri())
    spark = f'spark=SparkJob(conn_id="blockread_cluster"), deferrable={deferrable}'
    run = runs.start(parse(LOGS.replace("spark=SPARK", spark)))

    assert runs.states(run)["logs.read[0]"] == "failed"
    assert (
        "the text of a function reaches a driver on this host only, not one in deploy mode cluster"
        in capfd.readouterr().out
    )
