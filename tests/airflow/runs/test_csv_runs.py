"""csv by `dag.test()` with Spark: quoted newlines in blocks of a few bytes, files inside a group and across groups."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.options import Csv, FileSource, ParquetSink, Policies, SparkJob, Splitting
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import QUICK

pytestmark = [pytest.mark.airflow, pytest.mark.spark]


def _rows(low: int, high: int) -> list[dict[str, Any]]:
    return [{"id": i, "msg": f'{i},\n"quoted"\r\n' * (i % 3)} for i in range(low, high)]


def _text(rows: list[dict[str, Any]]) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, ["id", "msg"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def _dag(dag_id: str, landing: Path, lake: Path, *, group_bytes: int) -> DAG:
    with DAG(dag_id) as dag:
        BlockReadTaskGroup(
            "rows",
            source=FileSource(str(landing)),
            sink=ParquetSink(str(lake)),
            record_format=Csv(header=True),
            splitting=Splitting(block_size=16, group_bytes=group_bytes),
            policies=Policies(on_bad_record="quarantine"),
            spark=SparkJob(master="local[2]", conf=QUICK),
        )
    return dag


@pytest.mark.parametrize("spans", [False, True], ids=["one group", "many groups"])
def test_csv_is_exact(runs: Any, dag_id: str, landing: Path, tmp_path: Path, *, spans: bool) -> None:
    """Rows, inferred columns and the quarantine come out as written, whether or not the scan task has work."""
    lake, good = tmp_path / "lake", _rows(0, 60)
    files = {"a.csv": _text(good[:40]), "b.csv": _text(good[40:]) + b'99,"row\n",x\n'}
    for name, data in files.items():
        (landing / name).write_bytes(data)
    run = runs.start(_dag(dag_id, landing, lake, group_bytes=700 if spans else 2**30))
    states, published = runs.states(run), runs.xcom(run, "rows.commit")
    table = ds.dataset([str(path) for path in lake.glob("*.parquet")]).to_table()
    kept = ds.dataset(published["quarantine_uri"].removeprefix("file://"), format="parquet").to_table().to_pylist()

    assert set(states.values()) == {"success"}
    assert published["groups"] == (2 if spans else 1)
    assert sorted(table.to_pylist(), key=lambda row: row["id"]) == [row | {"msg": row["msg"] or None} for row in good]
    assert (published["records"], published["bad_records"], published["blocks"] > 50) == (61, 1, True)
    assert [row["bytes"] for row in kept] == [b'99,"row\n",x']
    (submitted,) = list(lake.parent.rglob("states-*/*/job.json")) or [None]
    assert (submitted is not None) == spans
    if submitted is not None:
        assert json.loads(submitted.read_bytes())["kind"] == "scan"
