"""What a server logs, shows and keeps of a window's tasks holds no secret of their closures."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.options import ArrowFunction, SparkJob
from airflow_provider_blockread.spark.engines.session import Server
from airflow_provider_blockread.spark.remote import RemoteSpark
from tests.pipeline.make import Pipe, ReadHere
from tests.spark.engines.modules import MODULES
from tests.spark.engines.server import ConnectServer

pytestmark = pytest.mark.spark

_SECRET = "hush-of-the-lake"  # noqa: S105 - of this test
_PAGES = ("/jobs/", "/stages/", "/environment/", "/executors/", "/SQL/", "/connect/")


def shown(server: ConnectServer) -> str:
    """Return all that the server's pages and its REST interface show."""
    found = [_get(server.pages + page) for page in _PAGES]
    [application] = json.loads(_get(f"{server.pages}/api/v1/applications"))
    rest = f"{server.pages}/api/v1/applications/{application['id']}"
    found += [_get(f"{rest}/{part}") for part in ("jobs", "stages?details=true", "sql?details=true", "environment")]
    return "".join(found)


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return str(answer.read().decode())


def test_no_secret_of_a_closure_is_kept(server: ConnectServer, tmp_path: Path) -> None:
    """Neither after a read nor after a task that failed; the operation itself is found by its name."""
    credentials = {"s3://lake": {"key": "ann", "secret": _SECRET}}
    pipe = Pipe(folder=tmp_path, submitter=ReadHere())
    pipe.put({"a.txt": b"one\nbad\n"})
    ref = pipe.plan()
    with RemoteSpark(
        server.server, SparkJob(remote=server.remote, py_files=MODULES), credentials=credentials
    ) as pipe.submitter:
        pipe.read(ref)
    pipe.function = ArrowFunction("user_functions:fails_on_bad_word")
    failing = pipe.plan(clear_number=1)
    with (
        RemoteSpark(
            server.server, SparkJob(remote=server.remote, py_files=MODULES), credentials=credentials
        ) as pipe.submitter,
        pytest.raises(FunctionError, match="cannot bear it"),
    ):
        pipe.read(failing, clear_number=1)
    secrets = [_SECRET, pipe.env.window_secret(ref.window), pipe.env.ledger.secret]
    pipe.close()
    deadline = time.monotonic() + 30
    while ref.window not in server.events and time.monotonic() < deadline:
        time.sleep(0.2)
    kept = {"log": server.log, "events": server.events, "pages": shown(server)}

    assert [place for place, text in kept.items() if f"blockread-{ref.window}-g1-0-e1" in text] >= ["events"]
    lines = [f"{place}: {line}" for place, text in kept.items() for line in text.splitlines()]
    assert [line for line in lines if any(secret in line for secret in secrets)] == []


def test_credentials_without_encryption_are_warned_of() -> None:
    """The warning names the server; with TLS, or on this host, there is none."""
    for url, expected in (("sc://127.0.0.1:1", 0), ("sc://h:1/;use_ssl=true", 0), ("sc://192.0.2.1:1", 1)):
        warned: list[str] = []
        spark = RemoteSpark(
            Server(url), SparkJob(), credentials={"s3://lake": {}}, observer=LogObserver(print, warned.append)
        )
        spark.warn_of_clear_text()

        assert len(warned) == expected
        assert all("is not encrypted, and carries credentials" in line for line in warned)
