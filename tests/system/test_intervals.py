"""Runs that Airflow makes by itself, of intervals and partitions: catch-up, and backfills that reprocess."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tests.system.client import Airflow, lines

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.postgres,
    pytest.mark.system,
    pytest.mark.timeout(600),  # seconds; the first of these tests starts Airflow
]

DAY = datetime(2026, 1, 1, tzinfo=UTC)
HOURS = {"h2026010100": 2, "h2026010101": 3, "h2026010102": 4}


def hour(number: int) -> datetime:
    """Return an hour of the day."""
    return DAY + timedelta(hours=number)


def generations(airflow: Airflow, dag_id: str) -> list[tuple[str, int]]:
    """Return what each run's commit returned: the state of the window and its generation, in the order of the runs."""
    commits = [airflow.xcom(dag_id, run_id, "logs.commit") for run_id in airflow.runs(dag_id)]
    return [(commit["status"], commit["generation"]) for commit in commits]


def test_catch_up(airflow: Airflow) -> None:
    """The scheduler makes a run of each hour that has passed, side by side; each reads the files of its own hour."""
    airflow.land("caught", **HOURS)
    airflow.unpause("caught")
    assert list(airflow.ended("caught", 3).values()) == ["success"] * 3
    assert airflow.values("caught") == lines(**HOURS)
    counts = [airflow.xcom("caught", run_id, "logs.commit")["records"] for run_id in airflow.runs("caught")]
    assert counts == [2, 3, 4]

    dated = airflow.start("caught", hour(1) + timedelta(minutes=30))
    undated = airflow.start("caught")
    assert airflow.finish("caught", dated) == "success"
    window = airflow.xcom("caught", dated, "logs.plan", "window")
    assert (window["status"], window["key"]) == ("empty", f"caught/logs/{dated}")
    assert airflow.finish("caught", undated) == "failed"
    assert airflow.states("caught", undated)["logs.plan"] == "failed"


def test_backfills(airflow: Airflow) -> None:
    """What is missing, what has failed, or all of the past is read, as the backfill says; a rebuild replaces."""
    airflow.land("backfilled", **HOURS)
    airflow.until("backfilled is known", lambda: airflow.found("GET", "dags/backfilled"))
    assert airflow.backfill("backfilled", (hour(0), hour(1)), "none") == 2
    assert list(airflow.ended("backfilled", 2).values()) == ["success", "failed"]
    assert airflow.values("backfilled") == lines(h2026010100=2)

    assert airflow.backfill("backfilled", (hour(0), hour(2)), "none") == 1
    assert airflow.values("backfilled") == lines(h2026010100=2, h2026010102=4)

    airflow.fix("backfilled")
    assert airflow.backfill("backfilled", (hour(0), hour(2)), "failed") == 1
    assert airflow.values("backfilled") == lines(**HOURS)
    assert generations(airflow, "backfilled") == [("published", 1)] * 3

    arguments = ["--from-date", hour(0).isoformat(), "--to-date", hour(2).isoformat()]
    airflow.command("backfill", "create", "--dag-id", "backfilled", *arguments, "--reprocess-behavior", "completed")
    assert list(airflow.ended("backfilled").values()) == ["success"] * 3
    assert generations(airflow, "backfilled") == [("published", 2)] * 3
    assert airflow.values("backfilled") == lines(**HOURS)


@pytest.mark.parametrize(("dag_id", "generation"), [("verified", 2), ("skipped", 1)])
def test_a_backfill_asks_for_what_the_policy_says(airflow: Airflow, dag_id: str, generation: int) -> None:
    """Reprocessed, a published window is verified or left alone, where `on_rerun` says so."""
    airflow.land(dag_id, h2026010100=2)
    airflow.until(f"{dag_id} is known", lambda: airflow.found("GET", f"dags/{dag_id}"))
    airflow.backfill(dag_id, (hour(0), hour(0)), "none")
    names = airflow.files(dag_id)
    assert airflow.backfill(dag_id, (hour(0), hour(0)), "completed") == 1
    ((status, number),) = generations(airflow, dag_id)
    assert (status, number) == ("verified" if generation == 2 else "published", generation)
    assert airflow.files(dag_id) == names
    assert airflow.values(dag_id) == lines(h2026010100=2)


def test_a_partition(airflow: Airflow) -> None:
    """A scheduled run of a partition has no date; a backfill reprocesses it by a run of its own, and rebuilds it."""
    airflow.land("partitioned", a=5)
    airflow.unpause("partitioned")
    airflow.ended("partitioned", 1)
    assert airflow.values("partitioned") == lines(a=5)
    airflow.land("partitioned", b=5)

    assert airflow.backfill("partitioned", (DAY, DAY), "completed") == 1
    assert list(airflow.ended("partitioned", 2).values()) == ["success"] * 2
    assert {run["logical_date"] for run in airflow.runs("partitioned").values()} == {None}
    assert sorted(generations(airflow, "partitioned")) == [("published", 1), ("published", 2)]
    assert airflow.values("partitioned") == lines(a=5)
