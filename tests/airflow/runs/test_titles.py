"""What mapped reads are called in Airflow's UI: what their groups hold, also while they run and when they fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.blocks import BlockGroup
from airflow_provider_blockread.operators.read_blocks import title_template
from airflow_provider_blockread.options import FileSource, JsonLines, ParquetSink, Splitting
from airflow_provider_blockread.steps.describe import describe_read, group_titles
from airflow_provider_blockread.task_group import BlockReadTaskGroup

pytestmark = pytest.mark.airflow

_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)


@pytest.mark.usefixtures("without_spark")
def test_failed_reads_say_what_they_hold(
    runs: Any, dag_id: str, landing: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so did all of them while they ran."""
    from airflow.sdk.execution_time import task_runner

    (landing / "bad.jsonl").write_text("{}\nbad\n")
    (landing / "good.jsonl").write_text("{}\n")
    early = []
    execute = task_runner._execute_task

    def look(context: Any, ti: Any, log: Any) -> Any:
        early.append(ti.rendered_map_index)
        return execute(context=context, ti=ti, log=log)

    monkeypatch.setattr(task_runner, "_execute_task", look)
    with DAG(dag_id) as dag:
        sink, splitting = ParquetSink(str(tmp_path / "lake")), Splitting(group_bytes=1)
        given_ = {"source": FileSource(str(landing)), "sink": sink, "splitting": splitting}
        BlockReadTaskGroup("logs", record_format=JsonLines(schema="x long"), **given_)
    run = runs.start(dag)

    titles = ["group 0: 1 file, 7 B, bad.jsonl", "group 1: 1 file, 3 B, good.jsonl"]
    reads = [run.get_task_instance("logs.read", map_index=index) for index in range(2)]
    assert [read.state for read in reads] == ["failed", "success"]
    assert [read.rendered_map_index for read in reads] == titles
    assert sorted(title for title in early if title is not None) == titles
    assert runs.xcom(run, "logs.plan", "titles") == titles
    assert runs.xcom(run, "logs.plan") == [0, 1]


def test_without_titles_a_read_is_called_by_its_number() -> None:
    """As where the plan had too many groups, or another task handed the numbers over."""
    from jinja2 import Environment

    class Task:
        group = 1

    class Instance:
        def __init__(self, titles: Any) -> None:
            self.titles = titles

        def xcom_pull(self, **_: Any) -> Any:
            return self.titles

    template = Environment(autoescape=True).from_string(title_template("plan"))
    found = [template.render(task=Task, ti=Instance(titles)) for titles in (None, [], ["a"], ["a", "b"])]

    assert found == ["group 1", "group 1", "group 1", "b"]
    assert template.render(task=Task, ti=None, blockread_title="read") == "read"


@given(first=_NAMES, last=_NAMES, groups=st.sampled_from([1, 2, 100, 1024, 1500, 5000]))
def test_titles_of_any_names_are_small(first: str, last: str, groups: int) -> None:
    """All of them together in JSON, and each where Airflow's database keeps it."""
    held = [
        BlockGroup(number=number, files=2, blocks=2, bytes=10**9, first_path=first, last_path=last)
        for number in range(groups)
    ]
    titles = group_titles(held)
    read = describe_read(held[-1], excluded=1, bad_records=7)

    assert len(json.dumps(titles)) < 50_000
    assert all(len(title) <= 250 for title in [*titles, read])
    assert len(titles) in {0, groups}
    assert groups > 1024 or titles[-1].startswith(f"group {groups - 1}: 2 files, 1.0 GB")
    assert read.endswith("; 1 file excluded; 7 bad records")
