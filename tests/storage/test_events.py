"""Messages of stores as URIs; other messages are ignored."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage.backends.events import read_event
from airflow_provider_blockread.storage.listing.files import listed_as


def s3(key: str = "in/a+b%3D1.csv", name: str = "ObjectCreated:Put") -> dict[str, Any]:
    """Return a notification as S3 writes it."""
    found = {"bucket": {"name": "landing"}, "object": {"key": key, "size": 3, "eTag": "e", "versionId": "v"}}
    return {"Records": [{"eventVersion": "2.1", "eventSource": "aws:s3", "eventName": name, "s3": found}]}


def azure(url: str, **fields: Any) -> dict[str, Any]:
    """Return an event as Event Grid writes it."""
    return {"eventType": "Microsoft.Storage.BlobCreated", "data": {"url": url, "eTag": "0x1"}} | fields


BLOB = "https://account.blob.core.windows.net/landing/in/a%20b.csv"
AZURE = "abfs://landing@account.dfs.core.windows.net/in"


def of_api(api: str, **fields: Any) -> dict[str, Any]:
    """Return the event of a file in an account with a hierarchical namespace, by the operation."""
    return azure(BLOB, data={"api": api, "url": BLOB} | fields)


def renamed(url: str) -> dict[str, Any]:
    """Return the event of a renamed file."""
    data = {"api": "RenameFile", "sourceUrl": url.replace("/in/", "/_tmp/"), "destinationUrl": url}
    return {"eventType": "Microsoft.Storage.BlobRenamed", "data": data}


EVENTBRIDGE = {
    "detail-type": "Object Created",
    "source": "aws.s3",
    "detail": {"bucket": {"name": "landing"}, "object": {"key": "in/a+b%.csv", "etag": "e"}},
}


@pytest.mark.parametrize(
    ("event", "uris"),
    [
        (s3(), ["s3://landing/in/a b=1.csv"]),
        (s3(name="s3:ObjectCreated:CompleteMultipartUpload"), ["s3://landing/in/a b=1.csv"]),
        ({"Type": "Notification", "Message": json.dumps(s3())}, ["s3://landing/in/a b=1.csv"]),
        (
            {"Records": [{"EventSource": "aws:sns", "Sns": {"Message": json.dumps(s3())}}]},
            ["s3://landing/in/a b=1.csv"],
        ),
        (EVENTBRIDGE, ["s3://landing/in/a+b%.csv"]),
        (azure(BLOB), [f"{AZURE}/a b.csv"]),
        (azure(BLOB.replace(".blob.", ".dfs.")), [f"{AZURE}/a b.csv"]),
        ([azure(BLOB), azure(BLOB.replace("a%20b", "c"))], [f"{AZURE}/a b.csv", f"{AZURE}/c.csv"]),
        (azure(BLOB, eventType=None, type="Microsoft.Storage.BlobCreated"), [f"{AZURE}/a b.csv"]),
        (of_api("FlushWithClose"), [f"{AZURE}/a b.csv"]),
        (of_api("CreateFile", contentLength=0), []),
        (of_api("SftpCreate", contentLength=0), []),
        (renamed(BLOB), [f"{AZURE}/a b.csv"]),
        (renamed(BLOB) | {"eventType": None, "type": "Microsoft.Storage.BlobRenamed"}, [f"{AZURE}/a b.csv"]),
        (renamed(BLOB) | {"eventType": "Microsoft.Storage.DirectoryRenamed"}, []),
        (azure("http://127.0.0.1:10000/devaccount/landing/in/c.csv"), ["abfs://landing/in/c.csv"]),
        (s3(name="ObjectRemoved:Delete"), []),
        (s3(key="in/folder/"), []),
        (azure(BLOB, eventType="Microsoft.Storage.BlobDeleted"), []),
        (azure("https://["), []),
        ({"Event": "s3:TestEvent", "Bucket": "landing"}, []),
        ({"Records": [{"s3": None, "eventName": "ObjectCreated:Put"}, 7]}, []),
    ],
)
def test_each_shape_is_understood(event: Any, uris: list[str]) -> None:
    """As it is, and in base64."""
    body = json.dumps(event)

    assert read_event(body) == uris
    assert read_event(base64.b64encode(body.encode()).decode()) == uris


@pytest.mark.parametrize("zone", ["blob.core.windows.net", "dfs.core.windows.net"])
def test_an_event_is_heard_under_the_source_s_own_name(zone: str) -> None:
    """Azure's accounts have two hosts; the recorded URI is that of a listing."""
    (uri,) = read_event(json.dumps(azure(BLOB)))
    root = f"abfs://landing@account.{zone}/in"

    assert listed_as(FileSource(root), uri) == f"{root}/a b.csv"
    assert listed_as(FileSource(root, pattern="*.txt"), uri) is None
    assert listed_as(FileSource(f"{root}/a b.csv"), uri) == f"{root}/a b.csv"
    assert listed_as(FileSource(f"{root}/a b.csv/"), uri) is None
    assert listed_as(FileSource(f"abfs://landing@other.{zone}/in"), uri) is None


names = ["Records", "Message", "Sns", "s3", "bucket", "object", "data", "url", "eventName", "detail"]
keys = st.sampled_from(names) | st.text()
values = st.none() | st.text() | st.integers()


@given(st.recursive(values, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=20))
def test_no_message_is_too_strange(event: Any) -> None:
    """A message of another form is ignored without an error."""
    assert read_event(json.dumps(event)) == []


@given(st.text())
def test_no_text_is_too_strange(body: str) -> None:
    """Also text that is not JSON."""
    assert read_event(body) == []


def test_lists_within_lists_without_end_are_no_event() -> None:
    """They are ignored without an error."""
    assert read_event("[" * 200_000) == []


def test_envelopes_end() -> None:
    """A message wrapped in many messages is unwrapped a limited number of times."""
    event: Any = s3()
    for _ in range(6):
        event = {"Message": json.dumps(event)}

    assert read_event(json.dumps(event)) == []
