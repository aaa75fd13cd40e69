"""Airflow's connections as storage options: known fields only, per root."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from airflow.sdk import Connection

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.stores import credentials_for, storage_options
from airflow_provider_blockread.options import FileSource, ParquetSink

pytestmark = pytest.mark.airflow


@pytest.mark.parametrize(
    ("conn_type", "fields", "expected"),
    [
        (
            "aws",
            {
                "login": "key",
                "password": "secret",
                "extra": {"endpoint_url": "http://store", "region_name": "eu-1", "unknown_here": "x"},
            },
            {
                "key": "key",
                "secret": "secret",
                "endpoint_url": "http://store",
                "client_kwargs": {"region_name": "eu-1"},
            },
        ),
        ("aws", {}, {}),
        (
            "wasb",
            {"host": "account.blob.core.windows.net", "password": "key"},
            {"account_name": "account", "account_key": "key"},
        ),
        (
            "adls",
            {"host": "account", "login": "id", "password": "secret", "extra": {"tenant_id": "tenant"}},
            {"account_name": "account", "tenant_id": "tenant", "client_id": "id", "client_secret": "secret"},
        ),
        (
            "google_cloud_platform",
            {"extra": {"project": "p", "keyfile_dict": '{"type": "service_account"}'}},
            {"project": "p", "token": {"type": "service_account"}},
        ),
        (
            "google_cloud_platform",
            {"extra": {"is_anonymous": True, "endpoint_url": "http://store"}},
            {"token": "anon", "endpoint_url": "http://store"},
        ),
        (
            "wasb",
            {"host": "https://account.blob.core.windows.net/", "login": "account", "extra": {"sas_token": "sv=1"}},
            {"account_name": "account", "sas_token": "sv=1"},
        ),
        (
            "wasb",
            {"extra": {"account_name": "account", "managed_identity_client_id": "id"}},
            {"account_name": "account", "managed_identity_client_id": "id"},
        ),
        (
            "aws",
            {"extra": {"config_kwargs": {"signature_version": "unsigned"}, "verify": False}},
            {"anon": True, "client_kwargs": {"verify": False}},
        ),
        (
            "generic",
            {"host": "h", "login": "me", "password": "secret", "extra": {"use_https": True}},
            {"host": "h", "username": "me", "password": "secret", "use_https": True},
        ),
        (
            "sftp",
            {"host": "files", "port": 22, "login": "me", "password": "secret"},
            {"host": "files", "port": 22, "username": "me", "password": "secret"},
        ),
        ("fs", {"extra": {"path": "/data"}}, {}),
    ],
)
def test_known_fields_become_storage_options(
    conn_type: str, fields: dict[str, object], expected: dict[str, object]
) -> None:
    """Each type has its own names; what is absent is left out, what is unknown never goes through."""
    given = fields | {"extra": json.dumps(fields.get("extra", {}))}

    assert storage_options(Connection(conn_id="store", conn_type=conn_type, **given)) == expected


@pytest.mark.parametrize(
    ("conn_type", "extra", "message"),
    [
        (
            "aws",
            {"role_arn": "arn:aws:iam::1:role/r", "assume_role_method": "assume_role_with_saml"},
            "assume_role_method 'assume_role_with_saml' is not supported; name a profile",
        ),
        (
            "aws",
            {"role_arn": "arn:aws:iam::1:role/r", "profile_name": "none-such"},
            r"role/r was not assumed: .*\(none-such\) could not be found; correct the connection",
        ),
        ("google_cloud_platform", {"impersonation_chain": "a"}, "impersonation_chain is not supported; give a key"),
        ("google_cloud_platform", {"keyfile_dict": "{secret"}, "the key is not a JSON object; paste"),
        ("google_cloud_platform", {"keyfile_dict": "[" * 500_000}, "the key is not a JSON object; paste"),
        ("google_cloud_platform", {"key_path": "/nowhere/key.json"}, "key_path names /nowhere/key.json, which cannot"),
        ("sftp", {"no_host_key_check": "false"}, "without host_key is not supported; give the server's key"),
    ],
)
def test_what_cannot_be_followed_is_refused(conn_type: str, extra: dict[str, object], message: str) -> None:
    """A connection that asks for more than is done fails at once, and its secrets are not quoted."""
    with pytest.raises(OptionsError, match=message) as failed:
        storage_options(Connection(conn_id="store", conn_type=conn_type, extra=json.dumps(extra)))

    assert "{secret" not in str(failed.value)


def test_key_files_are_read_where_the_connection_is(tmp_path: Path) -> None:
    """Executors have no such file: its content travels."""
    file = tmp_path / "key"
    file.write_text('{"type": "service_account"}')
    google = Connection(conn_id="g", conn_type="google_cloud_platform", extra=json.dumps({"key_path": str(file)}))
    ssh = Connection(conn_id="s", conn_type="sftp", extra=json.dumps({"key_file": str(file)}))

    assert storage_options(google) == {"token": {"type": "service_account"}}
    assert storage_options(ssh) == {"client_keys": ['{"type": "service_account"}']}


def test_a_type_that_names_no_store_is_refused() -> None:
    """The error lists the types that do."""
    with pytest.raises(OptionsError, match=r"type 'mysql', which is not that of a store; use one of adls, aws"):
        storage_options(Connection(conn_id="store", conn_type="mysql"))


def test_each_root_has_its_own_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Roots without a connection use ambient identity; a sink's work area has the sink's."""
    monkeypatch.setenv("AIRFLOW_CONN_LANDING", json.dumps({"conn_type": "aws", "login": "a", "password": "b"}))
    source = FileSource(["s3://one/x", "s3://two/y"], conn_id="landing")
    sink = ParquetSink("s3://lake/z")
    shared = ParquetSink("s3://lake/z", conn_id="landing")
    given = {"key": "a", "secret": "b"}

    assert credentials_for(source, sink) == {"s3://one/x": given, "s3://two/y": given}
    assert credentials_for(None, shared) == {"s3://lake/z": given, "s3://lake/z.blockread": given}


def test_a_missing_connection_is_named() -> None:
    """A store's connection must exist."""
    with pytest.raises(OptionsError, match="there is no connection 'nowhere'"):
        credentials_for(FileSource("s3://one/x", conn_id="nowhere"), None)


def test_each_root_may_have_a_connection_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The longest place that holds a root decides; a root that none holds has ambient identity."""
    for name in ("ONE", "TWO"):
        monkeypatch.setenv(f"AIRFLOW_CONN_{name}", json.dumps({"conn_type": "aws", "login": name, "password": "b"}))
    roots = ["s3://a/x", "s3a://a/y/", "s3://b/in", "/data"]
    source = FileSource(roots, conn_id={"s3://a": "one", "s3://a/y": "two"})
    found = credentials_for(source, None)

    assert {root: options["key"] for root, options in found.items()} == {"s3://a/x": "ONE", "s3a://a/y/": "TWO"}
    assert set(credentials_for(source.resolve(lambda text: text.replace("//a", "//c")), None)) == {
        "s3://c/x",
        "s3a://c/y/",
    }


def test_a_connection_for_no_root_is_refused() -> None:
    """A place mistyped would leave its root without credentials, and say so much later."""
    source = FileSource(["s3://a/x"], conn_id={"s3://a/y": "one"})

    with pytest.raises(OptionsError, match="conn_id names s3://a/y, which contains no root; name one of s3://a/x"):
        credentials_for(source, None)
