"""Reads of stores without versions: while the store fails, they are retried where they were."""

from __future__ import annotations

import io
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from itertools import repeat

import pytest

from airflow_provider_blockread.errors import BlockReadError, FileMissingError, SourceError, TransientError
from airflow_provider_blockread.options import Bounds
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.reopened import ReopenedFile
from airflow_provider_blockread.storage.versions import open_version
from tests.servers.web_folder import serving

DATA = bytes(range(250)) * 40_000  # more than is fetched at once
CUT = -1  # instead of a status: the connection ends in the middle of the answer


class Failing(BaseHTTPRequestHandler):
    """Fails as often as it is told to, then serves one file."""

    faults: dict[str, Iterator[int]]

    def do_GET(self) -> None:
        """Answer, or fail."""
        first, last = 0, len(DATA) - 1
        if "Range" in self.headers:
            first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        body, fault = DATA[first : last + 1], next(self.faults[self.command], 0)
        self.send_response(fault if fault > 0 else 206 if "Range" in self.headers else 200)
        self.send_header("ETag", '"1"')
        self.send_header("Content-Length", "0" if fault > 0 else str(len(body)))
        self.end_headers()
        if self.command == "GET" and fault <= 0:
            self.wfile.write(body[:10] if fault == CUT else body)

    def do_HEAD(self) -> None:
        """Answer without the body, or fail."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)


def failing(faults: dict[str, Iterator[int]]) -> Iterator[str]:
    """Provide the address of a server with faults by method, which are set later."""
    return serving(type("Such", (Failing,), {"faults": faults}))


@pytest.mark.parametrize("fault", [503, 429, 500, CUT])
def test_a_read_goes_on_after_failures_of_a_web_server(fault: int) -> None:
    """At any read, and at the checks of the version before and after."""
    faults: dict[str, Iterator[int]] = {"GET": iter(()), "HEAD": iter(())}
    for address in failing(faults):
        stores = Stores()
        version = stores.stat(f"{address}/x")
        faults["GET"], faults["HEAD"] = iter([fault] * 3), iter([503, 0, 503, 0] if fault != CUT else ())
        with open_version(stores, version, Bounds()) as file:
            found = file.read(10)
            faults["GET"] = iter([fault] * 5)
            while data := file.read(2**20):
                found += data
            faults["HEAD"] = iter([503] if fault != CUT else ())

        assert found == DATA


def test_the_tries_are_bounded() -> None:
    """A server that keeps failing is an error that says so."""
    faults: dict[str, Iterator[int]] = {"GET": iter(()), "HEAD": iter(())}
    for address in failing(faults):
        version = Stores().stat(f"{address}/x")
        faults["GET"] = repeat(503)
        with (
            open_version(Stores(), version, Bounds()) as file,
            pytest.raises(TransientError, match=r"slow down .* \(tried 6 times\)"),
        ):
            file.read(10)


class Broken(io.BytesIO):
    """A file whose reads raise, and whose closing does once it was read."""

    def __init__(self, error: BlockReadError) -> None:
        super().__init__()
        self.error, self.is_read = error, False

    def read(self, _size: int | None = -1) -> bytes:
        """Raise."""
        self.is_read = True
        raise self.error

    def close(self) -> None:
        """Close, and raise."""
        was_open = not self.closed
        super().close()
        if was_open and self.is_read:
            raise self.error


def test_a_file_is_opened_again_only_if_that_may_help() -> None:
    """In its place, although the broken one cannot be closed; a refusal is an error at once."""
    opened: list[io.BytesIO] = [Broken(TransientError("lost")), io.BytesIO(DATA), Broken(SourceError("refused"))]
    files = iter(opened)
    with ReopenedFile(lambda: next(files), len(DATA), "sftp://host/x") as file:
        assert file.seek(-10, io.SEEK_END) == len(DATA) - 10
        assert file.read(5) == DATA[-10:-5]
        assert file.tell() == file.seek(0, io.SEEK_CUR) == len(DATA) - 5
        assert file.read() == DATA[-5:]
    for error in (SourceError("refused"), FileMissingError("gone")):
        with (
            ReopenedFile(lambda error=error: Broken(error), 1, "x") as file,
            pytest.raises(type(error), match=str(error)),
        ):  # type: ignore[misc]
            file.read(1)
