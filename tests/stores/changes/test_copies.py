"""Copies on Azure, which the service may queue: they count once they are complete."""

from __future__ import annotations

import base64
from http.server import BaseHTTPRequestHandler

import pytest

from airflow_provider_blockread.errors import FileMissingError, TransientError
from airflow_provider_blockread.storage.backends import azure
from airflow_provider_blockread.storage.backends.shared.errors import translated
from airflow_provider_blockread.storage.stores import Stores
from tests.servers.store import Store
from tests.servers.web_folder import serving

KEY = base64.b64encode(b"k" * 32).decode()


class _Queue(BaseHTTPRequestHandler):
    """Tells of a copy what `said` holds, one answer after another."""

    said: list[str]

    def do_PUT(self) -> None:
        """Take a copy."""
        self._answer(202)

    def do_HEAD(self) -> None:
        """Tell how far the copy is."""
        self._answer(200)

    def _answer(self, status: int) -> None:
        copy = {"x-ms-copy-id": "1", "x-ms-copy-status": self.said.pop(0), "x-ms-blob-type": "BlockBlob"}
        self.send_response(status)
        for name, text in {"Content-Length": "0", "ETag": '"1"', **copy}.items():
            self.send_header(name, text)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _unasked(*said: str) -> list[str]:
    """Move a blob, and return what was not asked about its copy."""
    left = list(said)
    for address in serving(type("Such", (_Queue,), {"said": left})):
        text = f"DefaultEndpointsProtocol=http;AccountName=a;AccountKey={KEY};BlobEndpoint={address}/a;"
        store, _ = Stores({"abfs://c": {"connection_string": text}}).remote("abfs://c/from")
        with translated("abfs://c/to"):
            store.move("c/from", "c/to")
    return left


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(azure, "_LOOKS_S", 0.01)


def test_a_copy_in_a_queue_is_waited_for() -> None:
    """Otherwise a window would count as published while its files are empty, and their sources might be pruned."""
    assert _unasked("success", "-") == ["-"]
    assert _unasked("pending", "pending", "success", "-") == ["-"]


def test_a_copy_that_is_given_up_is_an_error() -> None:
    """The next try begins another one."""
    with pytest.raises(TransientError, match="the copy is aborted"):
        _unasked("pending", "aborted")


def test_a_copy_is_whole_and_one_of_nothing_is_an_error(azurite: Store) -> None:
    """A server's own copy, with a name that is quoted in its address."""
    root = azurite.new_root()
    stores = azurite.stores(root)
    stores.write_bytes_atomic(f"{root}/a +%#?.txt", b"x" * 70_000)
    stores.move(f"{root}/a +%#?.txt", f"{root}/b/c d.txt", size=70_000)
    stores.place(f"{root}/b/c d.txt", f"{root}/e")

    assert stores.read_bytes(f"{root}/e") == b"x" * 70_000
    with pytest.raises(FileMissingError, match="none"):
        stores.place(f"{root}/none", f"{root}/f")
