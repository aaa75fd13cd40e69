"""Names and records that try to write into a task's log: lines, colours, or folds of Airflow's pages."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import structlog
from airflow.sdk import DAG

from airflow_provider_blockread.errors import printable
from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.ledger.windows.generations import list_groups
from airflow_provider_blockread.options import ArrowFunction, FileSource, ParquetSink, SparkJob
from airflow_provider_blockread.task_group import BlockReadTaskGroup

NAMES = ["\x1b[2J\u202egol.exe.log", "a\nforged line.log", "::endgroup:: [red]b[bold].log"]
_OWN = re.compile(r"[\n\t]|\x1b\[[0-9;]*m")  # of Airflow's own lines


def refuse(batch: Any) -> Any:
    """Raise what a library might: an error that quotes a record."""
    msg = f"cannot read {batch['value'][0]}"
    raise ValueError(msg)


def assert_harmless(shown: str) -> None:
    """Check that nothing in a log does more than print."""
    for char in _OWN.sub("", shown):
        assert unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}, repr(char)
        assert char != "\u202e"
    assert not re.search(r"^forged", shown, re.MULTILINE)


def make_dag(dag_id: str, landing: Path, tmp_path: Path, **options: Any) -> DAG:
    """Return a DAG that reads the landing folder."""
    with DAG(dag_id) as dag:
        BlockReadTaskGroup("logs", source=FileSource(str(landing)), sink=ParquetSink(str(tmp_path / "lake")), **options)
    return dag


def run_logged(runs: Any, dag: DAG) -> tuple[Any, str]:
    """Run a DAG and return the run, and what its tasks logged."""
    with structlog.testing.capture_logs() as entries:
        run = runs.start(dag)
    lines = [str(entry["event"]) % entry.get("positional_args", ()) for entry in entries]
    errors = [str(entry.get("exception") or entry.get("exc_info") or "") for entry in entries]
    return run, "\n".join([*lines, *errors])


@pytest.mark.airflow
@pytest.mark.usefixtures("without_spark")
def test_names_of_files_are_escaped_in_logs_and_titles(runs: Any, dag_id: str, landing: Path, tmp_path: Path) -> None:
    """The rendered title of a read, and all that plan, read and commit say; what they hand on stays data."""
    for name in NAMES:
        (landing / name).write_text("fine\n")
    run, shown = run_logged(runs, make_dag(dag_id, landing, tmp_path))
    title = run.get_task_instance("logs.read", map_index=0).rendered_map_index

    assert set(runs.states(run).values()) == {"success"}
    assert title == printable(title)
    assert any(printable(name) in title for name in NAMES)
    assert title in shown
    assert_harmless(shown)


@pytest.mark.airflow
@pytest.mark.spark
def test_a_record_in_an_error_is_escaped_in_logs(runs: Any, dag_id: str, landing: Path, tmp_path: Path) -> None:
    """Neither Spark's part of the log nor the error that ends the task, which quotes the record, does anything else."""
    (landing / NAMES[1]).write_text("record \x1b]0;owned\x07 ::endgroup::\n")
    job = SparkJob(master="local[1]", conf={"spark.ui.enabled": "false"}, py_files=(__file__,))
    function = ArrowFunction("test_hostile_names:refuse")
    run, shown = run_logged(runs, make_dag(dag_id, landing, tmp_path, spark=job, function=function))

    assert runs.states(run)["logs.read[0]"] == "failed"
    assert printable(NAMES[1]) in shown
    ledger = LedgerHook().get_conn()
    (group,) = list_groups(ledger, runs.xcom(run, "logs.plan", "window")["window"], 1)
    ledger.close()
    assert r"record \x1b]0;owned\x07 \x3a:endgroup::" in str(group.error)
    assert_harmless(str(group.error))
    assert {line for line in shown.splitlines() if "::endgroup::" in line} == {"::endgroup::"}  # Airflow's own
    assert_harmless(shown)
