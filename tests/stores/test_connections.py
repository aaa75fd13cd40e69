"""Airflow connections of every kind against their stores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Connection

from airflow_provider_blockread.errors import BlockReadError, TransientError
from airflow_provider_blockread.hooks import assumed_role
from airflow_provider_blockread.hooks.stores import storage_options
from airflow_provider_blockread.storage import Stores
from tests.servers.all import s3_client
from tests.servers.processes import free_port, run
from tests.servers.store import Store

pytestmark = pytest.mark.airflow

Fields = Mapping[str, Any]


def stores_of(fields: Fields, root: str) -> Stores:
    """Return the access to a root by a connection with these fields, after a JSON round trip of its options."""
    given = dict(fields) | {"extra": json.dumps(fields.get("extra", {}))}
    return Stores({root: json.loads(json.dumps(storage_options(Connection(conn_id="store", **given))))})


def works(fields: Fields, root: str) -> None:
    """Write, stat and read a file by a connection."""
    stores = stores_of(fields, root)
    stores.write_bytes_atomic(f"{root}/in/x", b"0123")
    with stores.open_read(f"{root}/in/x") as file:
        file.seek(1)
        assert file.read(2) == b"12"
    assert stores.stat(f"{root}/in/x").size == 4


def fails(fields: Fields, root: str, *secrets: str) -> str:
    """Return the error of a connection, which contains no secret."""
    with pytest.raises(BlockReadError) as failed:
        works(fields, root)
    message = str(failed.value)
    assert [secret for secret in secrets if secret in message] == []
    return message


def test_each_kind_of_connection_opens_its_store(store: Store) -> None:
    """The connection types of Airflow's providers, with their fields."""
    works(store.connection, store.new_root())


def test_ways_to_write_an_aws_connection(ceph: Store) -> None:
    """Keys in the extra, an endpoint for S3 only, a region, an addressing style; also with the type generic."""
    root, options = ceph.new_root(), ceph.options
    keys = {"aws_access_key_id": options["key"], "aws_secret_access_key": options["secret"], "region_name": "us-east-1"}
    style = {"config_kwargs": {"s3": {"addressing_style": "path"}}}
    address = {"service_config": {"s3": {"endpoint_url": options["endpoint_url"]}}}

    works({"conn_type": "aws", "extra": keys | style | address}, root)
    works({"conn_type": "generic", "extra": dict(options)}, root)


def test_an_aws_connection_that_assumes_a_role(ceph: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """The role's keys open what the connection's keys may not; they are masked, and a refused role is an error."""
    fields, root = dict(ceph.by_role or {}), ceph.new_root()
    masked: list[object] = []
    monkeypatch.setattr(assumed_role, "mask_secret", masked.append)
    alone = {name: value for name, value in fields["extra"].items() if name != "role_arn"}

    fails(fields | {"extra": alone}, root, *ceph.secrets)
    works(fields, root)
    given = storage_options(Connection(conn_id="store", **(fields | {"extra": json.dumps(fields["extra"])})))
    assert masked[-2:] == [given["secret"], given["token"]]
    message = fails(fields | {"extra": fields["extra"] | {"role_arn": "arn:aws:iam:::role/other"}}, root, *ceph.secrets)
    assert "'store': role arn:aws:iam:::role/other was not assumed: An error occurred" in message
    unreachable = {"service_config": {"sts": {"endpoint_url": f"http://127.0.0.1:{free_port()}"}}}
    with pytest.raises(TransientError, match="role/writer was not assumed: Could not connect"):
        works(fields | {"extra": fields["extra"] | unreachable}, root)


def test_no_keys_at_all_where_the_bucket_is_open(ceph: Store) -> None:
    """An anonymous connection reads and writes public buckets."""
    root = ceph.new_root()
    s3_client(ceph).put_bucket_acl(Bucket=root.removeprefix("s3://"), ACL="public-read-write")
    extra = {"config_kwargs": {"signature_version": "unsigned"}, "endpoint_url": ceph.options["endpoint_url"]}
    stores = stores_of({"conn_type": "aws", "extra": extra}, root)

    assert list(stores.list_names(root)) == []


def test_a_wrong_key_is_denied_access(ceph: Store) -> None:
    """The message names the remedy and contains no secret."""
    wrong = dict(ceph.connection) | {"password": "not-the-secret"}

    assert "give the account that runs this (or its connection) access" in fails(
        wrong, ceph.new_root(), "not-the-secret"
    )


def test_ways_to_write_an_azure_connection(azurite: Store) -> None:
    """An account and its key at a host; a signature for a while; by the types wasb and adls."""
    from azure.storage.blob import AccountSasPermissions, ResourceTypes, generate_account_sas

    root, (key,) = azurite.new_root(), azurite.secrets
    parts = dict(part.split("=", 1) for part in str(azurite.options["connection_string"]).strip(";").split(";"))
    account, host = parts["AccountName"], parts["BlobEndpoint"]
    token = generate_account_sas(
        account,
        key,
        resource_types=ResourceTypes(service=True, container=True, object=True),
        permission=AccountSasPermissions(read=True, write=True, list=True, create=True, add=True, delete=True),
        expiry=datetime.now(UTC) + timedelta(hours=1),
    )
    signed = f"BlobEndpoint={host};SharedAccessSignature={token};"

    for conn_type in ("wasb", "adls"):
        works({"conn_type": conn_type, "login": account, "password": key, "host": host}, root)
    works({"conn_type": "wasb", "extra": {"connection_string": signed}}, root)
    works({"conn_type": "generic", "extra": dict(azurite.options)}, root)
    fails({"conn_type": "wasb", "login": account, "password": "bm90IHRoZSBrZXk=", "host": host}, root, "bm90IHRo")


def test_ways_to_write_an_ssh_connection(sftp: Store, tmp_path: Path) -> None:
    """A key as text, one with a passphrase, and the host key of the server."""
    root, fields = sftp.new_root(), dict(sftp.connection)
    file = Path(fields["extra"]["key_file"])
    key, host_key = file.read_text(), (file.parent / "host_key.pub").read_text().strip()
    locked = tmp_path / "locked"
    locked.write_text(key)
    locked.chmod(0o600)
    run("ssh-keygen", "-q", "-p", "-m", "PEM", "-P", "", "-N", "a passphrase", "-f", locked)
    other = tmp_path / "other"
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other)

    works(fields | {"conn_type": "ssh", "extra": {"private_key": key}}, root)
    works(fields | {"extra": {"private_key": locked.read_text(), "private_key_passphrase": "a passphrase"}}, root)
    works(fields | {"extra": {"key_file": str(file), "host_key": host_key, "no_host_key_check": False}}, root)
    wrong_host = {"key_file": str(file), "host_key": other.with_suffix(".pub").read_text().strip()}
    fails(fields | {"extra": wrong_host}, root, *sftp.secrets)
    fails(fields | {"extra": {"key_file": str(other)}}, root, *other.read_text().splitlines()[1:3])
