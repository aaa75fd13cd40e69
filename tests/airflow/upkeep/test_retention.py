"""Retention and ledgers from a DAG, by `dag.test()`: pruning, the ledger that forgets, PostgreSQL by a connection."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_blockread.hooks.ledger import LedgerHook, airflow_home
from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from airflow_provider_blockread.operators.prune_ledger import PruneLedgerOperator
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.task_group import BlockReadTaskGroup
from tests.airflow.published import SPARK, SUCCESS, lines, values
from tests.ledgers import open_ledger

pytestmark = [pytest.mark.airflow, pytest.mark.usefixtures("without_spark")]


@pytest.fixture
def reading(dag_id: str, landing: Path, lake: Path) -> Callable[..., DAG]:
    """What makes a DAG that reads what has landed."""

    def make(conn_id: str | None = None, window: str | None = None) -> DAG:
        with DAG(dag_id) as dag:
            BlockReadTaskGroup(
                "logs",
                source=FileSource(str(landing)),
                sink=ParquetSink(str(lake)),
                spark=SPARK,
                window=window,
                ledger_conn_id=conn_id,
            )
        return dag

    return make


@pytest.fixture
def pruning(dag_id: str) -> Callable[..., DAG]:
    """What makes a DAG that prunes the feed of this test."""

    def make(**options: Any) -> DAG:
        with DAG(f"{dag_id}_pruning") as dag:
            PruneLedgerOperator(task_id="prune", feed=f"{dag_id}.logs", **options)
        return dag

    return make


def test_pruning_in_a_dag(
    runs: Any, land: Any, lake: Path, dag_id: str, reading: Callable[..., DAG], pruning: Callable[..., DAG]
) -> None:
    """A dry run says what would be pruned, the next one prunes, and the feed's next run takes nothing twice."""
    land(a=3)
    first = runs.start(reading())
    assert runs.states(first) == SUCCESS

    preview = runs.start(pruning(older_than=0, keep=0, dry_run=True))
    assert (runs.xcom(preview, "prune")["pruned"], runs.xcom(preview, "prune")["files"]) == (1, 1)
    done = runs.start(pruning(older_than="{{ 0 }}", keep="{{ 0 }}"))
    assert runs.xcom(done, "prune")["windows"] == 1
    assert feed_counts(LedgerHook().get_conn(), f"{dag_id}.logs") == {"pruned": 1}

    land(b=2)
    runs.start(reading())
    assert values(lake) == lines(a=3, b=2)
    runs.clear(reading(), first, ["logs.plan"])
    assert values(lake) == lines(a=3, b=2)
    ti = first.get_task_instance("logs.plan")
    assert str(ti.state) == "failed"


def test_a_ledger_that_forgets(runs: Any, land: Any, lake: Path, reading: Callable[..., DAG]) -> None:
    """Each run reads all files that are there, whatever its window is called; a cleared run replaces its own output."""
    land(a=2)
    first = runs.start(reading("noop", "the same"))
    assert runs.states(first) == SUCCESS
    assert values(lake) == lines(a=2)

    land(b=1)
    runs.start(reading("noop", "the same"))
    assert values(lake) == sorted(lines(a=2) + lines(a=2, b=1))
    runs.clear(reading("noop", "the same"), first)
    assert values(lake) == sorted(lines(a=2) + lines(a=2, b=1))
    assert len(list((Path(airflow_home()) / "blockread_noop").glob("*.db"))) == 2


@pytest.mark.postgres
def test_postgresql_by_a_connection(
    runs: Any,
    land: Any,
    lake: Path,
    reading: Callable[..., DAG],
    monkeypatch: pytest.MonkeyPatch,
    postgres: str,
) -> None:
    """The ledger behind an Airflow connection with host, login and database works as the embedded one does."""
    folder = postgres.partition("?host=")[2]
    fields = {"host": folder, "schema": "postgres", "login": "postgres", "password": "s3cr3t"}
    monkeypatch.setenv("AIRFLOW_CONN_LEDGER", json.dumps({"conn_type": "blockread"} | fields))
    works, message = LedgerHook("ledger").test_connection()
    assert (works, "db upgrade" in message, "s3cr3t" in message) == (False, True, False)
    ledger = open_ledger(postgres)

    land(a=2)
    assert runs.states(runs.start(reading("ledger"))) == SUCCESS
    assert runs.states(runs.start(reading("ledger")))["logs.plan"] == "success"

    assert values(lake) == lines(a=2)
    assert [row.shown and row.shown.number for row in list_windows(ledger)] == [None, 1]
    ledger.close()
