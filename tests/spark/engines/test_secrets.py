"""What a server logs, shows and keeps of a window's tasks holds no secret of their closures."""

from __future__ import annotations

import json
import time
import urllib.request
from pathlib import Path

import pytest

from airflow_provider_blockread.errors import FunctionError
from airflow_provider_blockread.observer import LogObserver
from airflow_provider_blockread.options import ArrowFunction, AsRead, FunctionOption, SparkJob, Sql
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


def read(pipe: Pipe, server: ConnectServer, function: FunctionOption, clear_number: int) -> str:
    """Read a window in a session of its own, with credentials, and return its id."""
    pipe.function = function
    ref, job = pipe.plan(clear_number=clear_number), SparkJob(remote=server.remote, py_files=MODULES)
    with RemoteSpark(
        server.server, job, credentials={"s3://lake": {"key": "ann", "secret": _SECRET}}
    ) as pipe.submitter:
        pipe.read(ref, clear_number=clear_number)
    return ref.window


def test_no_secret_of_a_closure_is_kept(server: ConnectServer, tmp_path: Path) -> None:
    """Neither after a read or a query, nor after a task that failed; the operations are found by their names."""
    pipe = Pipe(folder=tmp_path, submitter=ReadHere(), out_name="out [1]")  # whose staged files the JVM does not open
    pipe.put({"a.txt": b"one\nbad\n"})
    window = read(pipe, server, AsRead(), 0)
    read(pipe, server, Sql("SELECT upper(value) AS value FROM records"), 1)
    with pytest.raises(FunctionError, match="cannot bear it"):
        read(pipe, server, ArrowFunction("user_functions:fails_on_bad_word"), 2)
    secrets = [_SECRET, pipe.env.window_secret(window), pipe.env.ledger.secret]
    pipe.close()
    deadline = time.monotonic() + 30
    while f"{window}-g3" not in server.events and time.monotonic() < deadline:
        time.sleep(0.2)
    kept = {"log": server.log, "events": server.events, "pages": shown(server)}

    for number in (1, 2, 3):
        named = f"blockread-{window}-g{number}-0-e1"
        assert {place for place, text in kept.items() if named in text} >= {"events", "pages"}
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
