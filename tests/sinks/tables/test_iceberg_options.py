"""What the options of an Iceberg table refuse."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options import IcebergSink
from airflow_provider_blockread.sinks.tables.iceberg.table import IcebergTable
from tests.sinks.kinds import STORES


@pytest.mark.parametrize(
    "properties",
    [
        {"token": "x"},
        {"credential": "a:b"},
        {"s3.secret-access-key": "x"},
        {"s3.session-token": "x"},
        {"adls.account-key": "x"},
        {"adls.connection-string": "x"},
        {"adls.sas-token": "x"},
        {"header.X-Api-Key": "x"},
        {"header.Cookie": "x"},
        {"uri": "postgresql://me:word@host/db"},
        {"adls.endpoint": "BlobEndpoint=https://b;AccountKey=x"},
        {"uri": "https://lake.blob.core.windows.net/c?se=2030&sig=x"},
    ],
    ids=str,
)
def test_secrets_are_no_options(properties: dict[str, str]) -> None:
    """They would be in the ledger and in job files; the value is not shown."""
    with pytest.raises(OptionsError, match=r"holds a secret.*put it into an Airflow connection") as found:
        IcebergSink("db.events", work_uri="/work", catalog_properties=properties)

    assert not any(value in str(found.value) for value in properties.values())
    by_connection = IcebergSink("db.events", work_uri="/work", catalog_conn_id="lake")
    made = IcebergTable(STORES, by_connection, {"lake": properties})
    assert made._properties == properties


@pytest.mark.parametrize("name", ["adls.account-host", "sasl.mechanism", "tokenizer", "n_tokens", "s3.access-style"])
def test_what_only_sounds_like_a_secret_is_an_option(name: str) -> None:
    """So that no connection is needed for it."""
    assert IcebergSink("db.events", work_uri="/work", catalog_properties={name: "x"}).catalog_properties == {name: "x"}


def test_a_property_that_is_no_text() -> None:
    """It is refused by its name, and as pyiceberg would have it."""
    with pytest.raises(OptionsError, match=r"property s3\.connect-timeout must be text, not 60; write it as '60'"):
        IcebergSink("db.events", work_uri="/work", catalog_properties={"s3.connect-timeout": 60})  # type: ignore[dict-item]
    IcebergSink("db.events", work_uri="/work", catalog_properties={"s3.connect-timeout": "60"})


def test_code_is_no_option() -> None:
    """What is loaded by a name in the ledger would run in Airflow's web server; a connection may name it."""
    code = {"py-catalog-impl": "pyiceberg.catalog.memory.InMemoryCatalog"}
    with pytest.raises(OptionsError, match=r"names code.*put it into the Airflow connection"):
        IcebergSink("db.events", work_uri="/work", catalog_properties=code)
    by_connection = IcebergSink("db.events", work_uri="/work", catalog_conn_id="lake")

    assert IcebergTable(STORES, by_connection, {"lake": code}).load() is None


@pytest.mark.parametrize(
    ("uri", "options", "problem"),
    [
        ("events", {"work_uri": "/w"}, "must name a table with its namespace"),
        ("db.events", {}, "set work_uri to a folder"),
        ("db.events", {"catalog_properties": {"warehouse": "name"}}, "set work_uri to a folder"),
        ("db.events", {"location": "/lake/t", "work_uri": "/lake/t/work"}, "is inside the output"),
    ],
)
def test_what_a_table_needs(uri: str, options: dict[str, Any], problem: str) -> None:
    """A namespace, and a folder for what is not published; with these it is taken."""
    with pytest.raises(OptionsError, match=problem):
        IcebergSink(uri, **options)

    assert IcebergSink("db.events", **options | {"work_uri": "/w"}).work_area == "/w"
