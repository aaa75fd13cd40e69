"""Whole runs by `dag.test()`, two of them with Spark: first, second, cleared, and retried after a failure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from airflow.sdk import DAG, task

from airflow_provider_blockread.options import (
    ArrowFunction,
    Csv,
    FileSource,
    Limits,
    ParquetSink,
    Policies,
    Selection,
    SparkJob,
    Splitting,
    Value,
)
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import SPARK, SUCCESS, attempts, lines, values
from tests.airflow.without_spark import install

pytestmark = pytest.mark.airflow


@pytest.fixture
def make_dag(dag_id: str, landing: Path, lake: Path) -> Callable[..., DAG]:
    """What makes the test's DAG, with options changed from one run to the next."""

    def make(**options: Any) -> DAG:
        with DAG(dag_id) as dag:
            given = {"source": FileSource(str(landing)), "sink": ParquetSink(str(lake)), "spark": SPARK}
            BlockReadTaskGroup("logs", **given | options)
        return dag

    return make


@pytest.mark.spark
def test_each_run_takes_what_is_new(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], lake: Path
) -> None:
    """A first run reads all, a second one nothing, a third one just what has landed in between."""
    dag = make_dag()
    land(a=100, b=3)
    first = runs.start(dag)
    after_first = values(lake)
    second = runs.start(dag)
    land(c=10)
    third = runs.start(dag)
    published = runs.xcom(third, "logs.commit")

    assert runs.states(first) == SUCCESS
    assert after_first == lines(a=100, b=3)
    assert runs.states(second) == {"logs.plan": "success", "logs.read": "skipped", "logs.commit": "skipped"}
    assert runs.states(third) == SUCCESS
    assert values(lake) == lines(a=100, b=3, c=10)
    assert (published["files"], published["records"], published["proof"]) == (1, 10, "proven")
    assert [event["records"] for event in runs.asset_events(f"file://{lake}")] == [103, 10]
    assert third.get_task_instance("logs.read", map_index=0).rendered_map_index == "group 0: 1 file, 50 B, c.log"


@pytest.mark.usefixtures("without_spark")
def test_a_cleared_run_is_rebuilt_verified_or_left(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], lake: Path
) -> None:
    """Clearing a published window asks for what `on_rerun` says, and a corrected option applies."""
    land(a=50)
    run = runs.start(make_dag())
    land(b=50)
    found = []
    for rule in ("rebuild", "verify", "skip"):
        dag = make_dag(policies=Policies(on_rerun=rule), sink=ParquetSink(str(lake), compression="zstd"))
        run = runs.clear(dag, run)
        published = runs.xcom(run, "logs.commit")
        found.append((runs.states(run).get("logs.read[0]"), published["status"], published["generation"]))
    (path,) = lake.glob("*.parquet")

    assert found == [("success", "published", 2), ("success", "verified", 3), ("removed", "verified", 3)]
    assert values(lake) == lines(a=50)
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.spark
def test_a_failed_read_publishes_nothing_until_it_is_mended(
    runs: Any, make_dag: Callable[..., DAG], land: Callable[..., None], lake: Path, tmp_path: Path, dag_id: str
) -> None:
    """One group's failure holds the window back; when its task is cleared, the other group is not read again."""
    land(a=20, b=20)
    module = tmp_path / f"functions_{dag_id[:20]}.py"
    bad = "def keep(batch):\n    assert 'b 7' not in batch['value'].to_pylist(), 'no sevens'\n    return batch\n"
    module.write_text(bad)
    dag = make_dag(
        function=ArrowFunction(f"{module.stem}:keep"),
        splitting=Splitting(group_bytes=1),
        spark=SparkJob(master="local[1]", conf=SPARK.conf, py_files=[str(module)]),
    )
    failed = runs.start(dag)
    states, shown = runs.states(failed), lake.exists()
    module.write_text(bad.replace("    assert", "    0 and"))
    fixed = runs.clear(dag, failed, [("logs.read", 1), "logs.commit"])

    assert states == {
        "logs.plan": "success",
        "logs.read[0]": "success",
        "logs.read[1]": "failed",
        "logs.commit": "upstream_failed",
    }
    assert not shown
    assert runs.states(fixed)["logs.commit"] == "success"
    assert values(lake) == lines(a=20, b=20)
    assert attempts(lake) == ["00000-e1", "00001-e2"]


def test_a_retry_reads_only_what_is_not_done(
    runs: Any,
    make_dag: Callable[..., DAG],
    land: Callable[..., None],
    lake: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The application fails once: Airflow's own retry takes that group over, the other one stays as it is."""
    program = tmp_path / "bin" / "spark-submit"
    program.parent.mkdir()
    install(tmp_path / "real")
    real = tmp_path / "real" / "spark-submit"
    program.write_text(
        f'#!/bin/sh\necho >> {tmp_path}/calls\n[ $(wc -l < {tmp_path}/calls) != 2 ] && exec {real} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    land(a=20, b=20)
    default_args = {"retries": 1, "retry_delay": timedelta(0)}
    run = runs.start(make_dag(splitting=Splitting(group_bytes=1), default_args=default_args))
    tries = [run.get_task_instance("logs.read", map_index=index).try_number for index in (0, 1)]

    assert str(run.state) == "success"
    assert sorted(tries) == [1, 2]
    assert attempts(lake) == [f"{group:05}-e{tries[group]}" for group in (0, 1)]
    assert values(lake) == lines(a=20, b=20)


@pytest.mark.usefixtures("without_spark")
def test_tasks_return_the_options_of_a_group(
    runs: Any, dag_id: str, landing: Path, lake: Path, land: Callable[..., None]
) -> None:
    """Numbers and words that no template can give; what the DAG must know when it is parsed is as it would be."""
    options: dict[str, Value] = {
        "source": FileSource(str(landing)),
        "sink": ParquetSink(str(lake)),
        "record_format": Csv(schema="value string"),
        "selection": Selection(limits=Limits(max_files=1)),
        "splitting": Splitting(block_size=20, group_bytes=20),
        "policies": Policies(on_empty="succeed"),
        "spark": SPARK,
    }

    @task
    def choose(name: str) -> Value:
        return options[name]

    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", **{name: choose.override(task_id=name)(name) for name in options})
    assert dag.get_task("logs.plan").upstream_task_ids == set(options)
    assert dag.get_task("logs.commit").upstream_task_ids == {
        "logs.plan",
        "logs.read",
    }  # else a skipped group would fail
    land(a=10, b=10)
    states = [runs.states(runs.start(dag)) for _ in range(3)]

    assert values(lake) == lines(a=10, b=10)
    assert [found["logs.scan"] for found in states[:2]] == ["success"] * 2
    assert [found["logs.commit"] for found in states] == ["success"] * 3
