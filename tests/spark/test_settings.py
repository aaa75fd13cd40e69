"""Which settings keep strangers away from an application's ports, and how many executors it asks for."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.spark.engines.settings import guarding, is_local, most_tasks, sized


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]", "local[2,3]"])
def test_a_local_application_listens_on_loopback(master: str) -> None:
    """Whether it has credentials or not, with a secret that Spark makes."""
    expected = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.authenticate": "true",
    }
    assert is_local(master)
    assert guarding(master, has_secrets=False) == guarding(master, has_secrets=True) == expected


@pytest.mark.parametrize(
    ("master", "has_secrets", "expected"),
    [
        ("yarn", True, {"spark.authenticate": "true"}),
        ("k8s://https://cluster:6443", True, {"spark.authenticate": "true"}),
        ("yarn", False, {}),
        ("k8s://https://cluster:6443", False, {}),
        ("spark://host:7077", True, {}),
        ("local-cluster[2,1,1024]", True, {}),
    ],
)
def test_credentials_travel_where_spark_makes_secrets(
    master: str, expected: dict[str, str], *, has_secrets: bool
) -> None:
    """On a standalone cluster the secret is the cluster's; a local cluster needs one given."""
    assert not is_local(master)
    assert guarding(master, has_secrets=has_secrets) == expected


_DYNAMIC = "spark.dynamicAllocation"


def _executors(count: int) -> dict[str, str]:
    counts = dict.fromkeys((f"{_DYNAMIC}.initialExecutors", f"{_DYNAMIC}.maxExecutors"), str(count))
    return {f"{_DYNAMIC}.enabled": "true"} | counts


@pytest.mark.parametrize(
    ("master", "given", "expected"),
    [
        ("yarn", {}, _executors(6)),
        ("yarn", {"spark.executor.cores": "4"}, _executors(2)),
        ("k8s://https://cluster:6443", {"spark.executor.cores": "6"}, _executors(1)),
        ("yarn", {"spark.executor.cores": "4", "spark.task.cpus": "2"}, _executors(3)),
        ("spark://host:7077", {"spark.executor.cores": "2"}, _executors(3)),
        ("spark://host:7077", {}, {"spark.cores.max": "6"}),
        ("spark://host:7077", {"spark.task.cpus": "2"}, {"spark.cores.max": "12"}),
        ("yarn", {f"{_DYNAMIC}.executorIdleTimeout": "9s"}, _executors(6)),
        ("local[2]", {}, {}),
        ("yarn", {"spark.dynamicAllocation.enabled": "false"}, {}),
        ("yarn", {"spark.dynamicAllocation.maxExecutors": "3"}, {}),
        ("yarn", {"spark.executor.instances": "2"}, {}),
        ("spark://host:7077", {"spark.cores.max": "2"}, {}),
    ],
)
def test_executors_follow_from_readers(master: str, given: dict[str, str], expected: dict[str, str]) -> None:
    """On a cluster, where nobody has said how many; and for no readers, nothing is asked for."""
    settings = sized(master, 6, given)

    assert settings == expected
    assert sized(master, None, given) == {}
    if settings:
        most = most_tasks(master, given | settings)
        assert most is not None
        assert most >= 6


@pytest.mark.parametrize(
    ("master", "given", "most"),
    [
        ("local[2]", _executors(3), None),
        ("yarn", {}, None),
        ("yarn", {"spark.executor.cores": "4", **_executors(3)}, 12),
        ("yarn", {f"{_DYNAMIC}.enabled": "true"}, None),
        ("yarn", {f"{_DYNAMIC}.maxExecutors": "3"}, None),
        ("spark://host:7077", {"spark.cores.max": "5"}, 5),
        ("spark://host:7077", {"spark.cores.max": "5", "spark.task.cpus": "2"}, 2),
        ("spark://host:7077", {"spark.executor.cores": "2", "spark.cores.max": "5", **_executors(2)}, 4),
        ("spark://host:7077", _executors(2), None),
    ],
)
def test_how_many_tasks_an_application_may_get(master: str, given: dict[str, str], most: int | None) -> None:
    """As far as its settings say."""
    assert most_tasks(master, given) == most
