"""Requests of stores' clients that their caller repeats."""

from __future__ import annotations

import asyncio
import re
import socket
from types import SimpleNamespace

import pytest
from aiohttp import ClientConnectorDNSError
from aiohttp.client_reqrep import ConnectionKey
from botocore.exceptions import ClientError, EndpointConnectionError
from gcsfs.retry import HttpError

from airflow_provider_blockread.errors import SourceError, TransientError
from airflow_provider_blockread.storage.backends import google, hdfs, s3
from airflow_provider_blockread.storage.backends.shared.errors import Fault, as_error, fault_of
from airflow_provider_blockread.storage.stores import Stores


def failed(status: int) -> object:
    """What botocore's handlers get to know of an answer; returns what they make of it."""
    parsed = {"Error": {"Code": "SlowDown"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    answer = (SimpleNamespace(status_code=status), parsed)
    return s3._on_failure(answer, operation=SimpleNamespace(name="GetObject"), caught_exception=None, attempts=1)


def test_a_failed_request_ends_at_once() -> None:
    """By an error, since older versions of aiobotocore take any other answer for a pause before the next request."""
    assert failed(503) is None
    mine = s3._ONCE.set(True)
    try:
        for status in (429, 500, 503):
            with pytest.raises(ClientError, match="SlowDown"):
                failed(status)
        assert failed(301) is None
        with pytest.raises(ConnectionError):
            s3._on_failure(None, operation=SimpleNamespace(name="GetObject"), caught_exception=ConnectionError())
    finally:
        s3._ONCE.reset(mine)


@pytest.mark.parametrize(
    ("message", "kind"), [("Invalid Credentials", TransientError), ("Login Required", SourceError)]
)
def test_a_token_that_cannot_be_renewed_now_is_asked_for_again(message: str, kind: type[Exception]) -> None:
    """Its client says so of any failure, also while a server of metadata starts, and then repeats its own requests."""

    def headers(_: object) -> dict[str, str]:
        raise HttpError({"code": 401, "message": message})

    system = SimpleNamespace(_get_params=dict, _get_headers=headers)
    with pytest.raises(HttpError) as caught:
        asyncio.run(google._once(system, "https://storage", {}))
    assert type(as_error("gs://bucket/key", caught.value)) is kind


@pytest.mark.parametrize(
    ("code", "status"), [("ConditionalRequestConflict", 409), ("BadDigest", 400), ("PendingCopyOperation", 409)]
)
def test_a_race_or_a_damaged_body_is_no_refusal(code: str, status: int) -> None:
    """Another request for the same object was faster, or bytes were lost on the way: the next one may succeed."""
    answer = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    fault = fault_of(ClientError(answer, "DeleteObject"))

    assert fault == Fault(kind="failed", word=code)


@pytest.mark.parametrize(
    ("error", "server"),
    [
        (EndpointConnectionError(endpoint_url="http://key:word@minio.locl:9000/lake?sig=s3cret"), "minio.locl:9000"),
        (ClientConnectorDNSError(ConnectionKey("fake", 4443, True, True, None, None, None), OSError()), "fake:4443"),  # noqa: FBT003 - aiohttp's
    ],
)
def test_a_server_that_does_not_answer_is_named(error: Exception, server: str) -> None:
    """Its address may be mistyped; a key in it is not shown."""
    expected = rf"gs://lake/in: the store failed \({type(error).__name__} at {server}\); try again when it is back"

    assert re.fullmatch(expected, str(as_error("gs://lake/in", error)))


def test_a_name_node_that_keeps_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts the connection, and a request ends all the same."""
    monkeypatch.setattr(hdfs, "_SILENCE_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"webhdfs://127.0.0.1:{server.getsockname()[1]}/in/a.txt"
        with pytest.raises(TransientError, match=r"ReadTimeout"):
            Stores().stat(uri)
