"""The values for Airflow's own chart, beside what its schema has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from tests.architecture.tree import ROOT

_VALUES: dict[str, Any] = yaml.safe_load(
    re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "clusters" / "helm.md").read_text("utf-8"), re.DOTALL)[0]
)
#: Keys of chart 1.22.0 and the types of their values, as its values.schema.json has them; it calls none deprecated.
#: Below one that ends with `*`, Kubernetes decides.
_KEYS = {
    **dict.fromkeys(("executor", "airflowVersion", "images.airflow.repository", "images.airflow.tag"), str),
    **dict.fromkeys(("fernetKeySecretName", "apiSecretKeySecretName", "jwtSecretName", "data.metadataSecretName"), str),
    **dict.fromkeys(("postgresql.enabled", "createUserJob.enabled", "triggerer.enabled", "dags.gitSync.enabled"), bool),
    **dict.fromkeys(("secret.envName", "secret.secretName", "secret.secretKey"), str),
    "workers.kubernetes.serviceAccount.create": bool,
    **dict.fromkeys(("dags.gitSync.repo", "dags.gitSync.branch", "dags.gitSync.subPath"), str),
    "workers.kubernetes.serviceAccount.annotations.*": str,
    "apiServer.serviceAccount.annotations.*": str,
    "triggerer.serviceAccount.annotations.*": str,
    "workers.kubernetes.resources.*": str,
}


def _leaves(values: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(values, dict):
        for name, value in values.items():
            yield from _leaves(value, f"{path}.{name}" if path else name)
    elif isinstance(values, list):
        for value in values:
            yield from _leaves(value, path)
    else:
        yield path, values


def _key(path: str) -> str:
    """Return the key of the chart that a path of the values is, or is below."""
    return next((key for key in _KEYS if key.endswith("*") and path.startswith(key[:-1])), path)


def test_the_chart_has_each_key_of_the_values() -> None:
    """With a value of its type; and no key above is one that the values do not use."""
    found = {(_key(path), type(value)) for path, value in _leaves(_VALUES)}

    assert found == set(_KEYS.items())


def test_no_account_of_the_cloud_is_left_without_an_identity() -> None:
    """What reads and writes files has the annotation of its service account: workers, triggerer and API server."""
    accounts = (_VALUES["workers"]["kubernetes"], _VALUES["apiServer"], _VALUES["triggerer"])

    assert len({str(one["serviceAccount"]["annotations"]) for one in accounts}) == 1


def test_nothing_has_a_default() -> None:
    """The chart would create a user with a known password, and a database with another one."""
    assert not _VALUES["createUserJob"]["enabled"]
    assert not _VALUES["postgresql"]["enabled"]
