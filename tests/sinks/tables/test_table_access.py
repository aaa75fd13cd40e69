"""Tables whose catalog or store refuses access: retrying cannot heal it, so the task fails at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError
from pyiceberg.exceptions import NoSuchNamespaceError, OAuthError, ServerError, ValidationError, WaitingForLockException
from pyiceberg.utils.config import Config

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.options import DeltaSink, IcebergSink
from airflow_provider_blockread.sinks.registry import make_sink
from airflow_provider_blockread.sinks.tables.iceberg.table import IcebergTable
from airflow_provider_blockread.storage import Stores
from tests.disks import run_without_rights
from tests.sinks.kinds import STORES

#: What is there: the settings of the catalog, and the names of objects.
FOUND = {
    "/v1/config": '{"defaults": {}, "overrides": {}}',
    "list-type=2": "<ListBucketResult><Name>lake</Name><KeyCount>0</KeyCount></ListBucketResult>",
}


class Service(ThreadingHTTPServer):
    """A REST catalog without tables, and a store without objects; both ask for credentials."""

    granted: tuple[str, ...] = ("Bearer right", "AWS4-HMAC-SHA256 Credential=right/")
    status = 401
    daemon_threads = True

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    """Answers 404 to the right credentials, with what an empty catalog says; else the service's status."""

    server: Service

    def do_GET(self) -> None:
        """Answer."""
        right = self.headers.get("Authorization", "").startswith(self.server.granted)
        found = next((text for part, text in FOUND.items() if part in self.path), None) if right else None
        status = self.server.status if not right else 404 if found is None else 200
        fault = {"error": {"message": "no", "type": "NoSuchTableException", "code": status}}
        data = (found or json.dumps(fault)).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    """A service on loopback."""
    with Service(("127.0.0.1", 0), Answer) as made:
        thread = Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_catalog_that_refuses_its_credentials(service: Service, status: int) -> None:
    """The error names the connection; with the right token in it, the catalog answers."""
    service.status = status
    option = IcebergSink("db.events", work_uri="/work", catalog_conn_id="lake")
    access = {"type": "rest", "uri": service.url, "token": "wrong"}
    with pytest.raises(OptionsError, match=r"refuses this .*correct its properties or connection 'lake'"):
        make_sink(STORES, option, access={"lake": access}).is_empty()
    assert make_sink(STORES, option, access={"lake": access | {"token": "right"}}).is_empty()


@pytest.mark.slow
def test_a_catalog_that_fails(service: Service) -> None:
    """That may pass, so the task is tried again, and then the catalog answers."""
    service.status, service.granted = 500, ()
    option = IcebergSink("db.events", work_uri="/work", catalog_conn_id="lake")
    access = {"lake": {"type": "rest", "uri": service.url, "token": "right"}}
    with pytest.raises(TransientError, match=r"cannot be reached.*; retry when they can be"):
        make_sink(STORES, option, access=access).is_empty()

    service.granted = Service.granted
    assert make_sink(STORES, option, access=access).is_empty()


def test_a_command_without_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command line knows no connection of Airflow: the variables that the message names take its place."""
    folder = f"file://{tmp_path}"
    option = IcebergSink("db.events", work_uri="/work", catalog="my-lake", catalog_conn_id="lake", location=folder)
    with pytest.raises(OptionsError) as found:
        make_sink(STORES, option).is_empty()
    text = str(found.value)
    assert "correct the environment variables PYICEBERG_CATALOG__MY_LAKE__*, since connection 'lake' is known" in text

    monkeypatch.setenv("PYICEBERG_CATALOG__MY_LAKE__TYPE", "sql")
    monkeypatch.setenv("PYICEBERG_CATALOG__MY_LAKE__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # a new process reads them
    assert make_sink(STORES, option).is_empty()


@pytest.mark.parametrize("status", [401, 403])
def test_a_delta_table_that_is_denied(service: Service, status: int) -> None:
    """With a key that has the rights, the store says that there is no table yet."""
    service.status = status
    made = {
        key: make_sink(
            Stores({"s3://lake": {"key": key, "secret": "s", "endpoint_url": service.url}}), DeltaSink("s3://lake/t")
        )
        for key in ("wrong", "right")
    }
    with pytest.raises(OptionsError, match=r"access to the Delta table is denied .*correct its connection"):
        made["wrong"].is_empty()
    assert made["right"].is_empty()


_COMMIT = """
from tests.sinks.kinds import Bench
bench = Bench("delta", "{0}/out", {{"work_uri": "{0}/work"}})
try:
    bench.publish("{1}", generation={2})
except Exception as error:
    print(type(error).__name__, error)
print(bench.values())
"""


def test_a_delta_table_whose_log_is_denied(tmp_path: Path) -> None:
    """The library's first line names the store alone; with the right, the commit is made."""
    run_without_rights(_COMMIT.format(tmp_path, "a", 1))
    log, again = tmp_path / "out" / "_delta_log", _COMMIT.format(tmp_path, "b", 2)
    log.chmod(0o555)
    said, values = run_without_rights(again).splitlines()

    assert said.startswith(f"OptionsError file://{tmp_path}/out: access to the Delta table is denied ")
    assert "Permission denied (os error 13)" in said
    assert values == "['a', 'a']"
    log.chmod(0o755)
    assert run_without_rights(again) == "['a', 'a', 'b', 'b']\n"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OAuthError("no"), OptionsError),
        (ValidationError("no"), OptionsError),
        (NoCredentialsError(), OptionsError),
        (ClientError({"Error": {"Code": "AccessDenied"}}, "GetTable"), OptionsError),
        (PermissionError(13, "no"), OptionsError),
        (ClientError({"Error": {"Code": "ThrottlingException"}}, "GetTable"), TransientError),
        (EndpointConnectionError(endpoint_url="x"), TransientError),
        (NoSuchNamespaceError("gone just now"), TransientError),
        (WaitingForLockException("held"), TransientError),
        (ServerError("no"), TransientError),
        (AssertionError("a mistake of this package"), AssertionError),
    ],
    ids=repr,
)
def test_errors_of_other_libraries_say_whether_to_retry(error: Exception, kind: type[Exception]) -> None:
    """Those of access, and of what was asked for, end the task; those of a moment are retried; others are ours."""
    lake = IcebergTable(STORES, IcebergSink("db.events", work_uri="/work"), {})
    with pytest.raises(kind), lake.explained():
        raise error
