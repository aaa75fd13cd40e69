"""Storage events of Azure: a real queue behind a watch, what opens it, and what its errors say."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import aclosing
from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk import Connection
from azure.storage.queue import QueueClient

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.hooks.queues import AzureQueue, SqsQueue, open_queue
from airflow_provider_blockread.options import FileSource, StorageEvents
from airflow_provider_blockread.triggers.new_files_events import NewFilesEventTrigger
from tests.servers.azure import account_of, address_of, azurites, signature
from tests.servers.store import Store

pytestmark = pytest.mark.airflow
CLASS = "airflow_provider_blockread.hooks.queues.AzureQueue"


@pytest.fixture(scope="module")
def azurite() -> Iterator[Store]:
    """Azurite: blobs and queues of one account."""
    with azurites(1) as (store,):
        yield store


@pytest.fixture
def queue(azurite: Store, dag_id: str, monkeypatch: pytest.MonkeyPatch) -> QueueClient:
    """A queue of one's own; Airflow knows the account as connection `store`."""
    monkeypatch.setenv("AIRFLOW_CONN_STORE", json.dumps(azurite.connection))
    name = dag_id.replace("_", "-")[:60].strip("-")
    client = QueueClient.from_connection_string(str(azurite.options["connection_string"]), name)
    client.create_queue()
    return client


def created(uri: str) -> str:
    """Return what Event Grid writes of a blob that landed."""
    url = f"https://account.blob.core.windows.net/{uri.removeprefix('abfs://')}"
    data = {"api": "PutBlob", "blobType": "BlockBlob", "url": url}
    subject = "/blobServices/default/containers/{}/blobs/{}".format(*uri.removeprefix("abfs://").split("/", 1))
    return json.dumps({"eventType": "Microsoft.Storage.BlobCreated", "subject": subject, "data": data})


def in_base64(text: str) -> str:
    """Return a text as Event Grid can be configured to write it."""
    return base64.b64encode(text.encode()).decode()


def opened(store: Store, queue: QueueClient, fields: dict[str, Any]) -> AzureQueue:
    """Return a queue as a connection opens it, that looks once; the URL is the queue's own."""
    connection = Connection(conn_id="store", **(fields | {"extra": json.dumps(fields.get("extra", {}))}))
    return AzureQueue(url_of(store, queue), connection, pauses=())


def url_of(store: Store, queue: QueueClient) -> str:
    """Return the URL of a queue."""
    return f"{address_of(store, 'queue')}/{queue.queue_name}"


def test_a_queue_of_azure_stands_in_for_listings(dag_id: str, azurite: Store, queue: QueueClient) -> None:
    """Files that messages name, plain or in base64, are reported at once; a listing reports what only it found."""
    root = f"{azurite.new_root()}/in"
    stores = azurite.stores(root)
    events = StorageEvents(url_of(azurite, queue), conn_id="store", reconcile=6.0, queue_class=CLASS)

    def land(name: str, message: str | None) -> None:
        stores.write_bytes_atomic(f"{root}/{name}", b"1\n")
        if message is not None:
            queue.send_message(message)

    async def watch() -> list[dict[str, Any]]:
        trigger = NewFilesEventTrigger(source=FileSource(root, conn_id="store"), feed=dag_id, listing=events)
        payloads = []
        async with aclosing(NewFilesEventTrigger(**json.loads(json.dumps(trigger.serialize()[1]))).run()) as fired:
            land("a.csv", None)
            payloads.append((await anext(fired)).payload)
            for name, message in (
                ("b ü.csv", in_base64(created(f"{root}/b ü.csv"))),
                ("c.csv", created(f"{root}/c.csv")),
                ("d.csv", None),
            ):
                await asyncio.to_thread(land, name, message)
                payloads.append((await anext(fired)).payload)
        return payloads

    payloads = asyncio.run(watch())
    assert [payload["paths"] for payload in payloads] == [[f"{root}/{name}.csv"] for name in ("a", "b ü", "c", "d")]
    assert [payload["only_listed"] for payload in payloads] == [0, 0, 0, 1]
    assert queue.get_queue_properties().approximate_message_count == 0


def test_messages_stay_until_they_are_done_with(azurite: Store, queue: QueueClient) -> None:
    """What was received is hidden, 32 at a time, and goes by `done`; one that is gone by then is no failure."""
    bodies = ["{}", in_base64("{}"), "<a & ü>", ""]
    for body in bodies + ["{}"] * 35:
        queue.send_message(body)
    found = opened(azurite, queue, dict(azurite.connection))
    first = found.receive()
    assert [one.body for one in first[:4]] == bodies
    rest = found.receive()
    assert (len(first), len(rest), found.receive()) == (32, 7, [])
    assert queue.get_queue_properties().approximate_message_count == 39
    for messages in (first, rest, rest):
        found.done(messages)
    assert queue.get_queue_properties().approximate_message_count == 0


def test_ways_to_be_let_in(azurite: Store, queue: QueueClient) -> None:
    """A connection string with a key or a SAS, an account with its key, a SAS by itself; by all of Azure's types."""
    account, key, host = account_of(azurite), azurite.secrets[0], address_of(azurite, "blob")
    token = signature(azurite, timedelta(hours=1))
    for fields in (
        {"conn_type": "wasb", "login": account, "password": key, "host": host},
        {"conn_type": "wasb", "login": account, "password": key},
        {"conn_type": "adls", "extra": {"account_name": account, "account_key": key}},
        {"conn_type": "generic", "extra": dict(azurite.options)},
        {"conn_type": "azure_data_lake", "extra": {"sas_token": f"?{token}"}},
        {"conn_type": "wasb", "extra": {"connection_string": f"QueueEndpoint={host};SharedAccessSignature={token}"}},
    ):
        queue.send_message("{}")
        found = opened(azurite, queue, fields)
        messages = found.receive()
        assert [one.body for one in messages] == ["{}"]
        found.done(messages)


def test_a_queue_of_azure_that_fails(azurite: Store, queue: QueueClient) -> None:
    """A queue that is not there, a wrong key and a SAS that expired may pass; each is named, and no credential is."""
    account, wrong, old = account_of(azurite), in_base64("not the key"), signature(azurite, timedelta(minutes=-5))
    gone = AzureQueue(url_of(azurite, queue) + "-else", Connection(conn_id="s", **as_text(azurite)), pauses=())
    by_key = opened(azurite, queue, {"conn_type": "wasb", "login": account, "password": wrong})
    no_key = opened(azurite, queue, {"conn_type": "wasb", "login": account, "password": "not base64!"})
    by_sas = opened(azurite, queue, {"conn_type": "wasb", "extra": {"sas_token": old}})
    secret = old.rpartition("sig=")[2]
    else_where = f"{queue.queue_name}-else"
    for found, word in ((gone, "QueueNotFound"), (by_key, "Auth"), (no_key, "Sign"), (by_sas, "Auth")):
        with pytest.raises(TransientError, match="check that it exists and that") as failed:
            found.receive()
        error = f"{failed.value!r} {failed.value.__cause__!r}"
        assert url_of(azurite, queue) in error
        assert word in error
        assert [text for text in (wrong, "not base64", secret, *azurite.secrets) if text in error] == []
    QueueClient.from_connection_string(str(azurite.options["connection_string"]), else_where).create_queue()
    assert gone.receive() == []


def as_text(store: Store) -> dict[str, Any]:
    """Return a store's connection as Airflow's class takes it."""
    return {**store.connection, "extra": json.dumps(store.connection["extra"])}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"conn_type": "aws", "login": "key", "password": "s3cret"}, "cannot open a queue of Azure"),
        ({"conn_type": "wasb", "extra": {"connection_string": "s3cret"}}, "cannot be opened"),
        ({"conn_type": "wasb", "extra": {"account_name": "account", "anon": True}}, "cannot be opened"),
        ({"conn_type": "wasb", "extra": {"connection_string": "UseDevelopmentStorage=true"}}, "cannot be opened"),
        (
            {"conn_type": "wasb", "login": "id", "password": "s3cret", "extra": {"tenant_id": "tenant"}},
            "cannot be opened",  # a principal is let in by https alone
        ),
    ],
)
def test_what_opens_no_queue_is_refused(azurite: Store, queue: QueueClient, fields: dict[str, Any], says: str) -> None:
    """Before anything is asked of the server, and without the credential."""
    with pytest.raises(OptionsError, match=says) as refused:
        opened(azurite, queue, fields)
    assert "s3cret" not in f"{refused.value!r} {refused.value.__cause__!r}"


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("https://account.queue.core.windows.net/landing", AzureQueue),
        ("https://account.z01.queue.storage.azure.net/landing", AzureQueue),
        ("https://sqs.eu-central-1.amazonaws.com/123456789012/landing", SqsQueue),
        ("https://eu-central-1.queue.amazonaws.com/123456789012/landing", SqsQueue),
    ],
)
def test_the_url_tells_whose_queue_it_is(url: str, kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """No class need be named; without a connection, the identity is the host's."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    assert isinstance(asyncio.run(open_queue(StorageEvents(url).to_json())), kind)


def test_a_missing_client_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "azure.storage.queue", None)
    with pytest.raises(OptionsError, match=r"airflow-provider-blockread\[azure\]"):
        AzureQueue("https://account.queue.core.windows.net/landing", None)


def test_requests_are_not_logged(azurite: Store, queue: QueueClient, caplog: pytest.LogCaptureFixture) -> None:
    """A watch asks some times a minute, which would fill the triggerer's log."""
    caplog.set_level(logging.INFO)
    caplog.clear()
    assert opened(azurite, queue, dict(azurite.connection)).receive() == []
    assert caplog.records == []


def test_a_signature_in_the_url_is_refused() -> None:
    """It would be written down with the DAG."""
    with pytest.raises(OptionsError, match="without a password") as refused:
        StorageEvents("https://account.queue.core.windows.net/landing?sv=2024-01-01&sig=s3cret")
    assert "s3cret" not in str(refused.value)
