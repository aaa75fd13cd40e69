"""Which settings keep strangers away from an application's ports."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.spark.engines.settings import guarding, is_local


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
