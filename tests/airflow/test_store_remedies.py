"""Connections of stores and queues that are missing or wrong: what each message asks for, done, works."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import Connection

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.assumed_role import assume_role
from airflow_provider_blockread.hooks.queues import AzureQueue, SqsQueue, open_queue, sqs
from airflow_provider_blockread.hooks.stores import aconnection, credentials_for, storage_options
from airflow_provider_blockread.options import FileSource, StorageEvents
from tests.airflow.queues import aws as aws  # noqa: PLC0414 - a fixture
from tests.airflow.refusals import KEYS, connect, refused

pytestmark = pytest.mark.airflow


def _store(conn_type: str, extra: Mapping[str, object]) -> Connection:
    return Connection(conn_id="store", conn_type=conn_type, extra=json.dumps(dict(extra)))


_KEY = {"type": "service_account"}


@pytest.mark.parametrize(
    ("conn_type", "wrong", "says", "right"),
    [
        (
            "google_cloud_platform",
            {"impersonation_chain": "a"},
            "give a key by keyfile_dict or key_path, or give the hosts an identity",
            [{"keyfile_dict": _KEY}, {"key_path": "{key}"}, {}],
        ),
        (
            "google_cloud_platform",
            {"keyfile_dict": "{secret"},
            "paste the content of the key file",
            [{"keyfile_dict": json.dumps(_KEY)}],
        ),
        (
            "google_cloud_platform",
            {"key_path": "/nowhere/key.json"},
            "correct the path, or put the key itself into the connection",
            [{"key_path": "{key}"}, {"keyfile_dict": _KEY}],
        ),
        ("sftp", {"key_file": "/nowhere"}, "or put the key itself", [{"key_file": "{key}"}, {"private_key": "k"}]),
        (
            "sftp",
            {"no_host_key_check": "false"},
            "give the server's key as host_key",
            [{"no_host_key_check": "false", "host_key": "AAAA"}],
        ),
    ],
)
def test_a_connection_that_asks_for_more(
    tmp_path: Path, conn_type: str, wrong: dict[str, object], says: str, right: list[dict[str, object]]
) -> None:
    """Each way that the message names is followed."""
    assert says in refused(storage_options, _store(conn_type, wrong))
    (tmp_path / "key").write_text(json.dumps(_KEY))

    for extra in right:
        found = {name: str(tmp_path / "key") if value == "{key}" else value for name, value in extra.items()}
        storage_options(_store(conn_type, found))


def test_a_role_that_is_assumed_in_another_way() -> None:
    """A profile that does it, or no role at all where the hosts have it."""
    role = {"role_arn": "arn:aws:iam::123456789012:role/r", "assume_role_method": "assume_role_with_saml"}
    message = refused(storage_options, _store("aws", role))
    assert "name a profile that does it (profile_name), or give this role to the hosts" in message

    assert storage_options(_store("aws", {"profile_name": "saml"})) == {"profile": "saml"}
    assert storage_options(_store("aws", {})) == {}


def test_a_role_that_is_not_assumed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, aws: dict[str, Any]) -> None:
    """A profile that exists, or the service's own address in `service_config`, as the messages ask."""
    role = {"role_arn": "arn:aws:iam::123456789012:role/r", "region_name": "us-east-1"}
    there = {"service_config": {"sts": {"endpoint_url": aws["endpoint_url"]}}}
    assert "correct the connection" in refused(storage_options, _store("aws", role | {"profile_name": "none-such"}))
    (tmp_path / "config").write_text("[profile mine]\nregion = us-east-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    keys = ("me", "s3cret", None)
    nowhere = {"service_config": {"sts": {"endpoint_url": "http://127.0.0.1:9"}}}
    message = refused(assume_role, _store("aws", role | nowhere), keys)
    assert "name the service's address in service_config if it is not the default, or try again" in message

    assert assume_role(_store("aws", role | there), keys)[0]
    assert assume_role(_store("aws", role | there | {"profile_name": "mine"}), keys)[0]


def test_a_store_connection_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Created, or left out for ambient identity; the same for triggers."""
    source = FileSource("s3://one/x", conn_id="landing")
    message = refused(credentials_for, source, None)
    assert "create it, or leave conn_id out for ambient identity" in message
    with pytest.raises(OptionsError, match="create it, or leave conn_id out"):
        asyncio.run(aconnection("landing"))
    assert credentials_for(FileSource("s3://one/x"), None) == {}
    connect(monkeypatch, "landing", "aws", **KEYS)

    assert credentials_for(source, None) == {"s3://one/x": {"key": "a", "secret": "b"}}
    assert asyncio.run(aconnection("landing")).login == "a"


def test_a_connection_for_no_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the roots that the message lists is taken."""
    connect(monkeypatch, "one", "aws", **KEYS)
    message = refused(credentials_for, FileSource(["s3://a/x"], conn_id={"s3://a/y": "one"}), None)
    root = message.rpartition("name one of ")[2]

    assert credentials_for(FileSource(["s3://a/x"], conn_id={root: "one"}), None)["s3://a/x"]["key"] == "a"


def test_a_type_that_names_no_store() -> None:
    """Every type that the message lists is one."""
    message = refused(storage_options, Connection(conn_id="store", conn_type="mysql"))
    for kind in re.findall(r"use one of (.*), or none", message)[0].split(", "):
        storage_options(Connection(conn_id="store", conn_type=kind))


def test_a_queue_that_is_not_there(aws: dict[str, Any]) -> None:
    """Once it exists, and lets the account in, its messages come."""
    from botocore.session import Session

    url = f"{aws['endpoint_url']}/123456789012/late"
    fields = {"endpoint_url": aws["endpoint_url"], "region_name": "eu-central-1"}
    connection = Connection(conn_id="q", conn_type="aws", **KEYS, extra=json.dumps(fields))
    queue = SqsQueue(url, connection)
    assert "check that it exists and that the connection has access" in refused(queue.receive)
    client = Session().create_client("sqs", **aws)
    client.create_queue(QueueName="late")
    client.send_message(QueueUrl=url, MessageBody="hello")

    assert [message.body for message in queue.receive()] == ["hello"]


def test_a_queue_is_opened_by_what_opens_the_bucket(aws: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys in the extra, the address of the service, and settings of the client; keys are taken again later."""
    from botocore.session import Session

    client = Session().create_client("sqs", **aws)
    url = client.create_queue(QueueName="own")["QueueUrl"]
    client.send_message(QueueUrl=url, MessageBody="hello")
    fields = {
        "aws_access_key_id": "me",
        "aws_secret_access_key": "s3cret",
        "region_name": "eu-central-1",
        "endpoint_url": "http://127.0.0.1:1",
        "service_config": {"sqs": {"endpoint_url": aws["endpoint_url"]}},
        "config_kwargs": {"retries": {"max_attempts": 1}},
    }
    monkeypatch.setattr(sqs, "_KEYS_S", 0.0)
    queue = SqsQueue(url, Connection(conn_id="q", conn_type="aws", extra=json.dumps(fields)))

    assert [message.body for message in queue.receive()] == ["hello"]


@pytest.mark.parametrize(
    ("url", "fields", "corrected"),
    [
        ("http://localhost:4566/000000000000/landing", {}, {"region_name": "eu-central-1"}),
        ("https://sqs.eu-central-1.amazonaws.com/1/l", {"profile_name": "nobody"}, {"profile_name": None}),
        ("https://sqs.eu-central-1.amazonaws.com/1/l", {"config_kwargs": {"x": 1}}, {"config_kwargs": {}}),
    ],
)
def test_a_connection_that_opens_no_queue_of_amazon(
    monkeypatch: pytest.MonkeyPatch, url: str, fields: dict[str, Any], corrected: dict[str, Any]
) -> None:
    """The error is not one of the client, which would end the watch."""
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    made = Connection(conn_id="q", conn_type="aws", **KEYS, extra=json.dumps(fields))
    assert "cannot be opened" in refused(SqsQueue, url, made)

    SqsQueue(url, Connection(conn_id="q", conn_type="aws", **KEYS, extra=json.dumps(fields | corrected)))


def test_a_type_that_opens_no_queue_of_amazon() -> None:
    """Every type that the message lists does."""
    url = "https://sqs.eu-central-1.amazonaws.com/1/q"
    message = refused(SqsQueue, url, Connection(conn_id="q", conn_type="wasb"))
    for kind in re.findall(r"use one of (.*), or none", message)[0].split(", "):
        SqsQueue(url, Connection(conn_id="q", conn_type=kind, **KEYS))


@pytest.mark.parametrize("name", ["nothing", "airflow_provider_blockread.hooks.queues.Missing", "no.such.module"])
def test_a_class_of_a_queue(name: str) -> None:
    """An import path, as the message asks, leads to it."""

    def opened(path: str) -> object:
        events = StorageEvents("https://sqs.eu-central-1.amazonaws.com/1/q", queue_class=path)
        return asyncio.run(open_queue(events.to_json()))

    assert "name a class by its import path" in refused(opened, name)

    assert isinstance(opened("airflow_provider_blockread.hooks.queues.sqs.SqsQueue"), SqsQueue)


def test_a_type_that_opens_no_queue_of_azure() -> None:
    """Every type that the message lists does."""
    url = "https://account.queue.core.windows.net/q"
    message = refused(AzureQueue, url, Connection(conn_id="q", conn_type="aws"))
    for kind in re.findall(r"use one of (.*), or none", message)[0].split(", "):
        fields = {"account_name": "account", "account_key": "a2V5"}
        AzureQueue(url, Connection(conn_id="q", conn_type=kind, extra=json.dumps(fields)))


def test_a_queue_of_azure_that_cannot_be_opened() -> None:
    """Written as the message says, with a connection that holds a key or a signature, it is."""
    extra = {"account_name": "account", "account_key": "a2V5"}
    connection = Connection(conn_id="q", conn_type="wasb", extra=json.dumps(extra))
    message = refused(AzureQueue, "https:///q", connection)
    form = re.findall(r"write it as (\S+),", message)[0]
    url = form.replace("ACCOUNT", "account").replace("QUEUE", "landing")

    AzureQueue(url, connection)
    AzureQueue(url, Connection(conn_id="q", conn_type="wasb", extra='{"sas_token": "sv=1&sig=x"}'))
