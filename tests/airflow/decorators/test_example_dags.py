"""The example DAGs with functions: they load, and the files that they publish are what they describe."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.dataset as ds
import pytest

from airflow_provider_blockread.blocks import iter_ranges
from airflow_provider_blockread.records import read_records, record_format

pytestmark = pytest.mark.airflow

DAGS = Path(__file__).resolve().parents[3] / "dags"
BLOCK = 16 * 2**10
WAYS = ("imported", "decorated", "framed", "queried")


@pytest.fixture
def dots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The example's DAG on a folder of its own, with the demo's notes."""
    from airflow.dag_processing.dagbag import DagBag

    monkeypatch.setenv("BLOCKREAD_DEMO_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(str(DAGS))
    monkeypatch.delitem(sys.modules, "demo_data", raising=False)
    import demo_data

    for number in range(3):
        demo_data._write(tmp_path / "landing" / "notes" / f"notes-{number}.txt", demo_data.notes_file(number))
    bag = DagBag(DAGS / "blockread_dots.py")
    assert not bag.import_errors
    return bag.dags["blockread_dots"]


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The demo's DAG on a folder of its own, with a few of its files."""
    from airflow.dag_processing.dagbag import DagBag

    monkeypatch.setenv("BLOCKREAD_DEMO_DIR", str(tmp_path))
    monkeypatch.syspath_prepend(str(DAGS))
    monkeypatch.delitem(sys.modules, "demo_data", raising=False)
    import demo_data

    monkeypatch.setattr(demo_data, "EVENTS", 50)
    landing = tmp_path / "landing"
    for number in range(2):
        demo_data._write(landing / "logs" / f"web-{number}.log", demo_data.log_file(number)[:10_000])
        demo_data._write(landing / "events" / f"day={number}" / "events.jsonl", demo_data.event_file(number))
        demo_data._write(landing / "reports" / f"{number}.txt", demo_data.report_file(number))
    bag = DagBag(DAGS / "blockread_demo.py")
    assert not bag.import_errors
    return bag.dags["blockread_demo"]


def expected(notes: Path) -> dict[int, list[str]]:
    """Return the lines of each block that do not start with a dot, by the block's number."""
    ranges = [
        (path, start, end) for path in sorted(notes.iterdir()) for start, end in iter_ranges(path.stat().st_size, BLOCK)
    ]
    found = {}
    for number, (path, start, end) in enumerate(ranges):
        with path.open("rb") as file:
            records = [record for _, record in read_records(file, start, end, record_format("lines"))]
        found[number] = [record.decode() for record in records if not record.startswith(b".")]
    return found


@pytest.mark.spark
def test_each_way_writes_a_file_for_each_block(runs: Any, dots: Any, tmp_path: Path) -> None:
    """Its name ends in the block's number in hex, and it holds the block's other lines in their order."""
    run = runs.start(dots)
    blocks = expected(tmp_path / "landing" / "notes")

    assert str(run.state) == "success"
    assert len(blocks) > 16  # so that some have two digits
    for way in WAYS:
        window = runs.xcom(run, f"{way}.plan", "window")["window"]
        files = {path.name: path for path in (tmp_path / "lake" / "dots" / way).iterdir()}
        named = {re.fullmatch(rf"part-w{window}-.*-b([0-9a-f]+)\.txt", name)[1]: path for name, path in files.items()}
        assert {int(number, 16): path.read_text().splitlines() for number, path in named.items()} == blocks


@pytest.mark.usefixtures("without_spark")
def test_the_demo_publishes_logs_events_and_reports(runs: Any, demo: Any, tmp_path: Path) -> None:
    """The function in its file has added the day of each event."""
    run = runs.start(demo)
    logs, reports = (
        ds.dataset(tmp_path / "lake" / name, format="parquet").to_table().to_pylist() for name in ("logs", "reports")
    )
    events = pl.read_delta(str(tmp_path / "lake" / "events")).to_dicts()

    assert str(run.state) == "success"
    assert {event["id"] for event in events} == set(range(100))
    assert all(event["day"] == event["at"].date() for event in events)
    landed = [line for path in (tmp_path / "landing" / "logs").iterdir() for line in path.read_bytes().splitlines()]
    assert sorted(log["value"].encode() for log in logs) == sorted(landed)
    assert sorted(report["value"].partition("\n")[0] for report in reports) == ["Report 0", "Report 1"]
