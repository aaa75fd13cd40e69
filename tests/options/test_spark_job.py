"""Where and how a Spark application runs."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import SparkJob


@pytest.mark.parametrize("name", ["", " ", "LICENSE=abc"])
def test_variables_to_inherit_are_named(name: str) -> None:
    """A value has no place there; a name or pattern, as the message has it, is taken."""
    with pytest.raises(OptionsError, match=r"environment names variables to inherit, such as 'CORP_\*'"):
        SparkJob(environment=("A", name))
    assert SparkJob(environment=("CORP_*",)).environment == ("CORP_*",)


@pytest.mark.parametrize(
    ("options", "message", "corrected"),
    [
        ({"remote": "sc://a:1", "master": "yarn"}, "remote and master both say where Spark runs", {"master": None}),
        ({"remote": "sc://a:1", "conn_id": "lake"}, "remote and conn_id both say where Spark runs", {"remote": None}),
        ({"remote": "sc://a:1/;token=b"}, "must not contain a token", {"remote": "sc://a:1"}),
        ({"remote": "sc://a:1/;Authorization=Bearer%20pa55"}, "must not contain a token", {"remote": "sc://a:1"}),
        ({"remote": "sc://ann:pa55@a:1"}, "must not contain a token", {"remote": "sc://a:1/;user_id=ann"}),
        ({"master": "locl[*]"}, r"master must be local\[2\]", {"master": "local[2]"}),
        ({"master": "mesos://a:pa55@b:1"}, "or k8s://https://host:443", {"master": "k8s://https://host:443"}),
        ({"master": "yarm"}, "master must be", {"master": "{% if params.far %}yarn{% else %}local{% endif %}"}),
        ({"remote": "a:pa55@b:1"}, "remote must be 'sc://host:port'", {"remote": "{{ var.value.spark }}"}),
    ],
)
def test_where_spark_runs_is_named_once_and_without_a_token(
    options: dict[str, Any], message: str, corrected: dict[str, Any]
) -> None:
    """Corrected as the message says, which tells no secret, the options are taken."""
    with pytest.raises(OptionsError, match=message) as caught:
        SparkJob(**options)
    assert "pa55" not in str(caught.value)
    SparkJob(**options | corrected)


def test_settings_with_keys_of_stores_are_secret() -> None:
    """Those that Spark's own pattern leaves out, too; what names a user or a place is not."""
    keys = (
        "spark.authenticate.secret",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.azure.account.key.lake.dfs.core.windows.net",
        "spark.hadoop.fs.azure.sas.landing.lake.blob.core.windows.net",
        "spark.hadoop.fs.azure.sas.fixed.token.lake.dfs.core.windows.net",
        "spark.hadoop.fs.s3a.encryption.key",
        "spark.hadoop.fs.gs.auth.service.account.private.key",
        "spark.sql.catalog.prod.credential",
    )
    shown = (
        "spark.hadoop.fs.s3a.aws.credentials.provider",
        "spark.hadoop.fs.azure.account.auth.type",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.app.name",
    )
    job = SparkJob(conf=dict.fromkeys((*keys, *shown), "x"))

    assert set(job.secrets) == set(keys)
    assert set(job.without_secrets().conf) == set(shown)
