"""What a run says of itself: logs that fold, tables, XComs in words, and metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.observer import Progress
from airflow_provider_blockread.operators.reports.observing import AirflowObserver
from airflow_provider_blockread.options import FileSource, JsonLines, ParquetSink, Policies, Splitting
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.logger import Logger
from tests.airflow.metrics import Metrics, kept_metrics

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]

DOCUMENTED = Path(__file__).parents[3] / "docs" / "metrics.md"


@pytest.fixture
def metrics() -> Iterator[Metrics]:
    """What Airflow's metrics get."""
    with kept_metrics() as found:
        yield found


@pytest.fixture
def dag(dag_id: str, landing: Path, tmp_path: Path) -> DAG:
    """A DAG whose windows have a group for each file."""
    with DAG(dag_id) as made:
        BlockReadTaskGroup(
            "logs",
            source=FileSource(str(landing)),
            sink=ParquetSink(str(tmp_path / "lake")),
            record_format=JsonLines(schema="x long"),
            policies=Policies(on_bad_record="quarantine"),
            splitting=Splitting(group_bytes=1),
        )
    return made


def _logged(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the lines that tasks logged, without times, levels and sources."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in capsys.readouterr().out.splitlines()]
    found = (re.match(r"\S+ \[(?:info|warning) *\] (.*?)(?: +\[[\w.]+\] .*)?$", line) for line in lines)
    return "\n".join(line[1] for line in found if line)


def test_a_run_says_what_it_did(
    runs: Any, dag: DAG, landing: Path, capsys: pytest.CaptureFixture[str], metrics: Metrics
) -> None:
    """In logs, XComs and metrics; a window with nothing to read says so."""
    (landing / "a.log").write_text('{"x": 1}\nbad\n')
    (landing / "b.log").write_text('{"x": 2}\n')
    run = runs.start(dag)
    log = _logged(capsys)
    said = {name: runs.xcom(run, f"logs.{name}", "summary") for name in ("plan", "commit")}
    read = runs.xcom(run, "logs.read", "summary", map_index=0)

    assert "::group::The 2 groups\ngroup 0: 1 file, 13 B, a.log\ngroup 1: 1 file, 9 B, b.log\n::endgroup::\n" in log
    assert re.search(r"\n  files +2\n  blocks +2 in 2 groups\n  bytes +22 B, each accounted for\n  records +3\n", log)
    feed = f"of feed {dag.dag_id}.logs: "
    assert said["plan"].endswith(f"{feed}2 files, 22 B, 2 blocks")
    assert read == "group 0: 1 file, 13 B, a.log; 1 bad record: 2 records, 1 bad"
    assert f"{feed}published: 3 records of 2 files, every byte accounted for; 1 of 3 records bad" in said["commit"]
    documented = set(
        re.findall(r"^\| `([\w.]+)` \| (?:counter|gauge|timer)", DOCUMENTED.read_text("utf-8"), re.MULTILINE)
    )
    assert set(metrics.found) == documented - {"commit.failed_proofs"}
    assert (metrics.found["commit.records"], metrics.found["read.bad_records"]) == (3, 1)
    assert all(tags == {"dag_id": dag.dag_id, "feed": f"{dag.dag_id}.logs"} for tags in metrics.tags)

    again = runs.start(dag)
    log = _logged(capsys)
    assert runs.states(again)["logs.commit"] == "skipped"
    assert "Nothing is to be read: Airflow skips the reads, which are mapped over no group" in log
    assert log.count(f"{feed}nothing new to read") == 2  # by plan and commit
    assert runs.xcom(again, "logs.commit", "summary").endswith(f"{feed}nothing new to read")


def test_names_do_not_fold_the_log(metrics: Metrics) -> None:
    """Airflow looks for its marks in whole lines; those of ours alone open and close folds."""
    lines: list[str] = []
    observer = AirflowObserver(Logger(lines), {"dag_id": "d"})
    observer.log("x::endgroup::.csv is read")
    observer.warn("::group::y is bad")
    observer.details("Files of ::group::", ["a::group::b"])
    observer.details("None", [])
    for done in range(3):
        observer.progress(Progress(done=done, total=3, what="read"))

    marks = [line for line in lines if "::group::" in line or "::endgroup::" in line]
    assert marks == [r"::group::Files of :\x3agroup::", "::endgroup::"]
    assert len(lines) == 6  # with one line of progress
    assert metrics.found == {}
