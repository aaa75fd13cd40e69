"""Messages of S3 and Azure about files that landed, as URIs. A message is a hint: the store is asked about each file.

Supported are S3's own notifications (`Records`), bare or wrapped by SNS, those of S3 through EventBridge, and Azure's
`BlobCreated` and `BlobRenamed` in the formats of Event Grid and CloudEvents: one event or a list of them, as JSON or in
base64, as in Azure's queues.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, unquote_plus, urlsplit

_MOST_DEPTH = 3  # envelopes within envelopes
#: Azure's events, and the field of each that names the blob.
_BLOBS = {"Microsoft.Storage.BlobCreated": "url", "Microsoft.Storage.BlobRenamed": "destinationUrl"}
_OPENINGS = frozenset({"CreateFile", "SftpCreate"})  # the file is still empty; another event follows when it is written
_ACCOUNT = re.compile(r"^abfs://([^/@]+)@[^/]+/")


def read_event(body: str) -> list[str]:
    """Return the canonical URIs of the files that, by a message, were written; none for any other message.

    Blobs are named with their account if the message contains it: `abfs://container@account.dfs.core.windows.net/path`.
    """
    return list(dict.fromkeys(_uris(_parsed(body), _MOST_DEPTH)))


def without_account(uri: str) -> str:
    """Return the URI of a blob as `abfs://container/path`, where only the connection names the account."""
    return _ACCOUNT.sub(r"abfs://\1/", uri)


def _parsed(body: str) -> object:
    for text in (body, _from_base64(body)):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):  # from deeply nested lists
            continue
    return None


def _from_base64(body: str) -> str:
    try:
        return base64.b64decode(body, validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _uris(event: object, depth: int) -> Iterator[str]:
    if isinstance(event, list) and depth:
        for one in event:
            yield from _uris(one, depth - 1)
    elif isinstance(event, dict) and depth:
        yield from _of_event(event, depth)


def _of_event(event: dict[str, Any], depth: int) -> Iterator[str]:
    if isinstance(event.get("Records"), list):
        for record in event["Records"]:
            yield from _of_record(record, depth)
    elif isinstance(event.get("Message"), str):  # SNS
        yield from _uris(_parsed(event["Message"]), depth - 1)
    elif event.get("source") == "aws.s3" and event.get("detail-type") == "Object Created":
        yield from _of_s3(event.get("detail"), encoded=False)
    else:
        kinds = (event.get("eventType"), event.get("type"))
        for field in (_BLOBS[kind] for kind in kinds if isinstance(kind, str) and kind in _BLOBS):
            yield from _of_azure(event.get("data"), field)


def _of_record(record: Any, depth: int) -> Iterator[str]:  # noqa: ANN401 - any JSON
    if not isinstance(record, dict):
        return
    if isinstance(record.get("Sns"), dict):  # as a Lambda function gets it
        yield from _uris(record["Sns"], depth - 1)
    elif str(record.get("eventName", "")).removeprefix("s3:").startswith("ObjectCreated"):
        yield from _of_s3(record.get("s3"), encoded=True)


def _of_s3(found: Any, *, encoded: bool) -> Iterator[str]:  # noqa: ANN401 - any JSON
    try:
        bucket, key = found["bucket"]["name"], found["object"]["key"]
    except (KeyError, TypeError):
        return
    if isinstance(bucket, str) and isinstance(key, str) and bucket and key and not key.endswith("/"):
        yield f"s3://{bucket}/{unquote_plus(key) if encoded else key}"


def _of_azure(data: Any, field: str) -> Iterator[str]:  # noqa: ANN401 - any JSON
    url = data.get(field) if isinstance(data, dict) and str(data.get("api")) not in _OPENINGS else None
    if not isinstance(url, str):
        return
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return
    path = unquote(parts.path).lstrip("/")
    if "." not in host or host.replace(".", "").isdigit():  # the emulator puts the account before the container
        path = path.partition("/")[2]
    container, _, name = path.partition("/")
    account, _, zone = host.replace(".blob.", ".dfs.", 1).partition(".dfs.")
    if container and name:
        yield f"abfs://{container}@{account}.dfs.{zone}/{name}" if zone else f"abfs://{container}/{name}"
