"""Watchers in a real triggerer process: what they fire, once, however often the process is killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from airflow.sdk import DAG, Asset, AssetWatcher

from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.ledger.files.unread import newest_pending
from airflow_provider_blockread.operators.split_files import SplitFilesOperator
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.triggers.new_files_events import NewFilesEventTrigger

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(600)]

PATIENCE_S = 240.0  # on a busy machine; usually it is a tenth


@contextmanager
def triggerer(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a real triggerer; at the end it is killed, with all its processes, as a host that fails kills it."""
    settings = {
        "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "3",  # seconds until another one takes over
        "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "1",
    }
    program = Path(sys.executable).with_name("airflow")
    with log.open("ab") as output:
        process = subprocess.Popen(
            [program, "triggerer", "--skip-serve-logs"],
            env=os.environ | settings,
            stdout=output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        family = psutil.Process(process.pid)
        try:
            yield process
        finally:
            own = [*family.children(recursive=True), family]
            helpers = [one for one in own if "steps.watch.serving" in " ".join(one.cmdline())]
            for one in [one for one in own if one not in helpers]:
                one.kill()
            process.wait(20)
            assert not psutil.wait_procs(helpers, 20)[1], "a helper outlives its triggerer"


def until(found: Callable[[], Any], log: Path) -> Any:
    """Return the first answer that is true."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if answer := found():
            return answer
        time.sleep(0.2)
    pytest.fail(f"nothing came in {PATIENCE_S} s: {log.read_text()[-3000:]}")


@pytest.fixture
def watched(runs: Any, dag_id: str, landing: Path, tmp_path: Path) -> Iterator[DAG]:
    """A DAG that plans what two watchers of one source see, one of them some of the files only."""
    source = FileSource(str(landing))

    def asset(name: str, only: str | None) -> Asset:
        trigger = NewFilesEventTrigger(source=source, feed=f"{dag_id}.plan", only=only, listing=1.0)
        return Asset(
            f"{dag_id}_{name}", uri=f"x-{name}://{dag_id}", watchers=[AssetWatcher(name=name, trigger=trigger)]
        )

    with DAG(dag_id, schedule=[asset("all", None), asset("some", "b*")], is_paused_upon_creation=False) as dag:
        SplitFilesOperator(task_id="plan", source=source, sink=ParquetSink(str(tmp_path / "lake")))
    runs._sync(dag)
    runs._sync(dag)  # watchers of a DAG that was there, and not paused
    yield dag
    with DAG(dag_id, schedule=None) as gone:
        SplitFilesOperator(task_id="plan", source=source, sink=ParquetSink(str(tmp_path / "lake")))
    runs._sync(gone)


def test_each_file_is_told_once_over_a_restart(
    runs: Any, watched: DAG, land: Callable[..., None], tmp_path: Path
) -> None:
    """What lands before, while and after the triggerer is killed is reported once; a plan takes all of it."""
    log = tmp_path / "triggerer.log"

    def reported(name: str) -> list[list[str]]:
        events = runs.asset_events(f"x-{name}://{watched.dag_id}")
        return [[Path(path).stem for path in event["payload"]["paths"]] for event in events]

    land(a1=3, b1=4)
    with triggerer(log):
        until(lambda: reported("all") and reported("some"), log)
        land(a2=3)
        until(lambda: len(reported("all")) == 2, log)
        assert (reported("all"), reported("some")) == ([["a1", "b1"], ["a2"]], [["b1"]])
        until(lambda: cursors(watched.dag_id) == {newest(f"{watched.dag_id}.plan")}, log)
    land(a3=1, b3=2)
    with triggerer(log):
        until(lambda: len(reported("all")) == 3 and len(reported("some")) == 2, log)
        assert (reported("all")[2], reported("some")[1]) == (["a3", "b3"], ["b3"])
        land(b4=2)
        until(lambda: len(reported("all")) == 4 and len(reported("some")) == 3, log)

    run = runs.start(watched)
    assert runs.xcom(run, "plan", "window")["files"] == 6


def newest(feed: str) -> int:
    """Return the mark of the last file that the feed has learnt of; other tests' feeds are in the same ledger."""
    ledger = LedgerHook().get_conn()
    try:
        return newest_pending(ledger, feed)
    finally:
        ledger.close()


def cursors(dag_id: str) -> set[int]:
    """Return how far the watchers of a DAG's assets have reported."""
    from airflow import settings
    from airflow.models.asset import AssetModel
    from airflow.models.asset_state_store import AssetStateStoreModel

    rows = (
        settings.Session().query(AssetStateStoreModel).join(AssetModel, AssetModel.id == AssetStateStoreModel.asset_id)
    )
    return {int(row.value) for row in rows.filter(AssetModel.name.startswith(dag_id))}
