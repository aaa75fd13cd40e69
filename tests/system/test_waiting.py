"""A sensor that waits in a real triggerer, for as long as its feed has nothing new."""

from __future__ import annotations

import pytest

from tests.system.client import Airflow, lines

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.postgres,
    pytest.mark.system,
    pytest.mark.timeout(600),  # seconds; the first of these tests starts Airflow
]


def test_a_deferred_sensor_lets_the_run_go_on(airflow: Airflow) -> None:
    """It is deferred until a file lands, returns what came, and a cleared run does not wait again."""
    run = airflow.start("awaited")
    airflow.until_deferred("awaited", run, "arrived")
    airflow.land("awaited", a=10)
    assert airflow.finish("awaited", run) == "success"
    found = airflow.xcom("awaited", run, "arrived")
    paths = [f"file://{airflow.folder}/awaited/landing/a.log"]
    assert (found["files"], found["paths"], found["why"]) == (1, paths, "enough")
    assert airflow.values("awaited") == lines(a=10)

    airflow.clear("awaited", run)
    assert airflow.finish("awaited", run) == "success"
    assert airflow.xcom("awaited", run, "arrived")["why"] == "planned"
    assert airflow.xcom("awaited", run, "logs.commit")["generation"] == 2
    assert airflow.values("awaited") == lines(a=10)
