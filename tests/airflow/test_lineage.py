"""What OpenLineage's provider gets of a published window: datasets by its naming rules, with their facets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.openlineage.extractors import OperatorLineage
from airflow.sdk import DAG

from airflow_provider_blockread.operators.commit_window import CommitWindowOperator
from airflow_provider_blockread.operators.reports.lineage import dataset_name, facets_of
from airflow_provider_blockread.options import (
    DeltaSink,
    FileSource,
    IcebergSink,
    JsonLines,
    PostgresSink,
    Sink,
    TextSink,
)
from airflow_provider_blockread.steps import Published
from airflow_provider_blockread.steps.commit.lineage import Lineage, RootRead
from airflow_provider_blockread.task_group import BlockReadTaskGroup

pytestmark = pytest.mark.airflow

PUBLISHED = Published(window="ab12", key="2026-01-01", feed="logs", generation=1, status="published", files=2)


@pytest.fixture
def extracted() -> Iterator[dict[str, dict[str, Any]]]:
    """What the provider makes of each task that succeeds or is skipped, as JSON, by the task's id."""
    from airflow.listeners import hookimpl
    from airflow.providers.openlineage.extractors.manager import ExtractorManager
    from airflow.sdk.listener import get_listener_manager
    from airflow.utils.state import TaskInstanceState

    class Listener:
        @hookimpl
        def on_task_instance_success(self, task_instance: Any) -> None:
            found = ExtractorManager().extract_metadata(
                task_instance.get_template_context()["dag_run"],
                task_instance.task,
                TaskInstanceState.SUCCESS,
                task_instance,
            )
            seen[task_instance.task_id] = _as_json(found)

        on_task_instance_skipped = on_task_instance_success

    seen: dict[str, dict[str, Any]] = {}
    listener = Listener()
    get_listener_manager().pm.register(listener)
    yield seen
    get_listener_manager().pm.unregister(listener)


def _as_json(lineage: Any) -> dict[str, Any]:
    """Return the event of a task with its datasets, as the client sends it."""
    from openlineage.client.event_v2 import Job, Run, RunEvent, RunState
    from openlineage.client.serde import Serde

    event = RunEvent(
        eventTime="2026-01-01T00:00:00Z",
        producer="https://example.com/producer",
        eventType=RunState.COMPLETE,
        run=Run(runId="01941f29-7c00-7000-8000-000000000000"),
        job=Job(namespace="default", name="logs.commit"),
        inputs=lineage.inputs,
        outputs=lineage.outputs,
    )
    found: dict[str, Any] = json.loads(Serde.to_json(event))
    return found


def _plain(facet: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facet.items() if not name.startswith("_")}


@pytest.mark.usefixtures("without_spark")
def test_a_window_of_two_roots_into_a_delta_table(
    runs: Any, dag_id: str, landing: Path, tmp_path: Path, extracted: dict[str, dict[str, Any]]
) -> None:
    """Each root is an input with its own sums and its files; the table is the output, with schema, sums and version."""
    roots = [landing / "east", landing / "west"]
    for root, count in zip(roots, (2, 1), strict=True):
        root.mkdir()
        for number in range(count):
            (root / f"{number}.jsonl").write_text('{"id": 1, "msg": "a"}\n{"id": 2, "msg": "b"}\n')
    with DAG(dag_id) as dag:
        BlockReadTaskGroup(
            "logs",
            source=FileSource([str(root) for root in roots]),
            record_format=JsonLines(schema="id long, msg string"),
            sink=DeltaSink(str(tmp_path / "lake"), partition_by=["id"]),
        )
    assert str(runs.start(dag).state) == "success"
    inputs, (output,) = (extracted["logs.commit"][name] for name in ("inputs", "outputs"))

    assert [(found["namespace"], found["name"]) for found in inputs] == [("file", str(root)) for root in roots]
    sums = [_plain(found["inputFacets"]["inputStatistics"]) for found in inputs]
    assert sums == [{"rowCount": 4, "size": 88, "fileCount": 2}, {"rowCount": 2, "size": 44, "fileCount": 1}]
    subset = inputs[1]["inputFacets"]["subset"]["inputCondition"]
    assert subset == {"type": "location", "locations": [f"file://{roots[1]}/0.jsonl"]}
    assert (output["namespace"], output["name"]) == ("file", str(tmp_path / "lake"))
    fields = [(field["name"], field["type"]) for field in output["facets"]["schema"]["fields"]]
    assert fields == [("id", "int64"), ("msg", "string")]
    assert output["facets"]["version"]["datasetVersion"] == "0"
    assert _plain(output["facets"]["storage"]) == {"storageLayer": "delta", "fileFormat": "parquet"}
    written = output["outputFacets"]["outputStatistics"]
    assert (written["rowCount"], written["fileCount"]) == (6, 2)
    assert written["size"] == sum(file.stat().st_size for file in (tmp_path / "lake").glob("*.parquet"))

    assert runs.states(runs.start(dag))["logs.commit"] == "skipped"
    assert [extracted["logs.commit"][name] for name in ("inputs", "outputs")] == [[], []]


@pytest.mark.parametrize(
    ("sink", "place", "name"),
    [
        (TextSink("s3a://lake/logs/"), "s3a://lake/logs/", ("s3://lake", "logs")),
        (
            PostgresSink("public.events", url="postgresql://db/shop", work_uri="/w"),
            "postgres://db:5432/shop/public/events",
            ("postgres://db:5432", "shop.public.events"),
        ),
        (
            IcebergSink("db.events", catalog="lake", work_uri="/w"),
            "iceberg://lake/db.events",
            ("s3://lake", "db/events"),
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Sink) else "",
)
def test_outputs_of_other_kinds(sink: Sink, place: str, name: tuple[str, str]) -> None:
    """They are named by the rules of their systems; a table of a catalog by its folder, with its name beside it."""
    lineage = Lineage(
        read=[RootRead(root="s3://in", files=5000, records=9)],
        files=1,
        rows=9,
        bytes=90,
        first_file="s3://lake/db/events/data/part-1.parquet",
        columns=[],
    )
    found = _as_json(facets_of(PUBLISHED, lineage, sink, place))
    (read,), (output,) = found["inputs"], found["outputs"]

    assert (output["namespace"], output["name"]) == name
    aliases = [_plain(one) for one in output["facets"].get("symlinks", {}).get("identifiers", [])]
    known = {"namespace": "iceberg://lake", "name": "db.events", "type": "TABLE"}
    assert aliases == ([known] if isinstance(sink, IcebergSink) else [])
    window = {"identifier": "ab12", "dimensions": {"feed": "logs", "window": "2026-01-01"}}
    assert read["inputFacets"]["subset"]["inputCondition"]["partitions"] == [window]


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("/data/in/", ("file", "/data/in")),
        ("s3://bucket", ("s3://bucket", "/")),
        ("gcs://bucket/a b#c", ("gs://bucket", "a b#c")),
        ("abfs://box@account.dfs.core.windows.net/in", ("abfss://box@account.dfs.core.windows.net", "in")),
        ("hdfs://node:8020/in", ("hdfs://node:8020", "/in")),
        ("sftp://me@host/in", ("file://host", "/in")),
    ],
)
def test_names_of_places(place: str, name: tuple[str, str]) -> None:
    """As OpenLineage's own classes and its specification name them, without the user of a host."""
    assert dataset_name(place) == name


def test_a_commit_that_published_nothing() -> None:
    """It names no datasets, and is no reason for a warning of OpenLineage, which expects an answer."""
    commit = CommitWindowOperator(task_id="commit", window={}, sink=TextSink("/lake"))

    assert commit.get_openlineage_facets_on_complete(None) == OperatorLineage()
