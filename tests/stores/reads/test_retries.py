"""Reads and listings of objects are retried by this package alone, whatever their clients would do."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import TransientError
from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.backends.shared import objects
from airflow_provider_blockread.storage.backends.shared.pages import Pages
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.versions import open_version
from tests.servers.web_folder import serving

KEY = base64.b64encode(b"k" * 32).decode()
PLACES = {
    "s3": "s3://b/x",
    "azure": "abfs://c/x",
    "google": "gs://b/x",
}


def stores(kind: str, address: str) -> Stores:
    """Return stores with the defaults of their clients."""
    options = {
        "s3": {"key": "K", "secret": "S", "endpoint_url": address, "client_kwargs": {"region_name": "us-east-1"}},
        "azure": {
            "connection_string": (
                f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey={KEY};BlobEndpoint={address}/a;"
            )
        },
        "google": {"token": "anon", "project": "tests", "endpoint_url": address},
    }
    return Stores({PLACES[kind].removesuffix("/x"): options[kind]})


class Busy(BaseHTTPRequestHandler):
    """Answers every request alike, or never, and counts them."""

    status, asked = 503, 0
    until: threading.Event | None = None

    def do_GET(self) -> None:
        """Count, then fail or wait."""
        type(self).asked += 1
        if self.until is not None:
            self.until.wait(20)
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.uniform", lambda *_: 0.0)


def busy(**answer: object) -> Iterator[tuple[str, type[Busy]]]:
    """Provide a server and what it counts."""
    handler = type("Such", (Busy,), answer)
    for address in serving(handler):
        yield address, handler


@pytest.mark.parametrize("status", [503, 500])
@pytest.mark.parametrize("kind", PLACES)
def test_a_read_is_tried_six_times(kind: str, status: int) -> None:
    """Not six times as often as its client would."""
    for address, counted in busy(status=status):
        version = FileVersion(PLACES[kind], 100, 0, "1")
        with (
            open_version(stores(kind, address), version, Bounds()) as file,
            pytest.raises(TransientError, match="tried 6 times"),
        ):
            file.read(10)

        assert counted.asked == 6


@pytest.mark.parametrize("status", [503, 500])
@pytest.mark.parametrize("kind", PLACES)
def test_a_page_of_a_listing_is_tried_six_times(kind: str, status: int) -> None:
    """Not six times as often as its client would."""
    for address, counted in busy(status=status):
        root = PLACES[kind].removesuffix("/x")
        with pytest.raises(TransientError, match="tried 6 times"):
            next(list_files(stores(kind, address), FileSource(root), now_s=0))

        assert counted.asked == 6


@pytest.mark.parametrize("kind", PLACES)
def test_a_read_without_an_answer_ends(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is given up after a time that grows with the range."""
    monkeypatch.setattr(Pages, "seconds", 0.1)
    monkeypatch.setattr(objects, "_SLOWEST", 1000)
    until = threading.Event()
    for address, counted in busy(until=until):
        version = FileVersion(PLACES[kind], 100, 0, "1")
        with (
            open_version(stores(kind, address), version, Bounds()) as file,
            pytest.raises(TransientError, match=r"the store failed \(FSTimeoutError\).* \(tried 6 times\)"),
        ):
            file.read(10)
        until.set()

        assert counted.asked <= 6
