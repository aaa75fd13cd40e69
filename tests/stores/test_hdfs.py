"""HDFS over WebHDFS: a folder in pages where the name node supports them, else at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from airflow_provider_blockread.errors import SourceError, TransientError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files

FILES = {f"/in/{name}": len(name) for name in ["b", "a", "x/1", "x/y/2", "x-z", "e é%#", *(f"n{n}" for n in range(9))]}
_MOST = 3  # entries returned at once


class NameNode(ThreadingHTTPServer):
    """A name node; an `old` one refuses LISTSTATUS_BATCH by that exception, and `locked` folders must not be listed."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.old, self.locked, self.gone = "", "", ""
        self.asked: list[str] = []

    def status(self, path: str, name: str = "") -> dict[str, object] | None:
        """Return the status of a path, or None where there is nothing."""
        if path in FILES:
            return {"pathSuffix": name, "type": "FILE", "length": FILES[path], "modificationTime": 1234}
        if any(file.startswith(path.rstrip("/") + "/") for file in FILES):
            return {"pathSuffix": name, "type": "DIRECTORY", "length": 0, "modificationTime": 0}
        return None

    def listing(self, path: str) -> list[dict[str, object]]:
        """Return the status of a folder's entries by name."""
        inside = (file.removeprefix(path + "/") for file in FILES if file.startswith(path + "/"))
        found = (self.status(f"{path}/{name}", name) for name in sorted({name.partition("/")[0] for name in inside}))
        return [status for status in found if status]


class _Handler(BaseHTTPRequestHandler):
    server: NameNode

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        path = unquote(address.path).removeprefix("/webhdfs/v1").rstrip("/")
        query = {key: values[0] for key, values in parse_qs(address.query).items()}
        self.server.asked.append(query["op"])
        status = self.server.status(path)
        if self.server.locked == path:
            self._answer(403, _refusal("AccessControlException"))
        elif status is None or self.server.gone == path:
            self._answer(404, _refusal("FileNotFoundException"))
        elif query["op"] == "GETFILESTATUS":
            self._answer(200, {"FileStatus": status})
        elif query["op"] == "LISTSTATUS":
            self._answer(200, {"FileStatuses": {"FileStatus": self.server.listing(path)}})
        elif self.server.old:
            self._answer(400, _refusal(self.server.old))
        else:
            left = [s for s in self.server.listing(path) if str(s["pathSuffix"]) > query.get("startAfter", "")]
            page = {"FileStatuses": {"FileStatus": left[:_MOST]}}
            more = max(0, len(left) - _MOST)
            self._answer(200, {"DirectoryListing": {"partialListing": page, "remainingEntries": more}})

    def _answer(self, status: int, answer: object) -> None:
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def _refusal(name: str) -> dict[str, object]:
    return {"RemoteException": {"exception": name, "message": "Invalid value for parameter op: LISTSTATUS_BATCH"}}


@pytest.fixture
def node() -> Iterator[NameNode]:
    """Yield a name node that serves until the end of the test."""
    server = NameNode()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("old", ["", "IllegalArgumentException", "QueryParamException"])
def test_all_files_of_a_tree_are_listed(node: NameNode, old: str) -> None:
    """Each file is listed once as by stat, by name nodes with pages, old ones and old gateways."""
    node.old = old
    root = f"webhdfs://127.0.0.1:{node.server_port}/in"
    stores = Stores()
    found = list(list_files(stores, FileSource(root), now_s=4e9))

    assert sorted(version.path.removeprefix(root) for version in found) == sorted(
        path.removeprefix("/in") for path in FILES
    )
    assert node.asked.count("GETFILESTATUS") == 1
    assert node.asked.count("LISTSTATUS") == (3 if old else 0)
    assert found == [stores.stat(version.path) for version in found]


def test_a_folder_that_is_locked_or_vanishes_is_an_error(node: NameNode) -> None:
    """A partial listing is an error."""
    root = f"webhdfs://127.0.0.1:{node.server_port}/in"
    node.locked = "/in/x"
    with pytest.raises(SourceError, match="/in/x: access denied"):
        list(list_files(Stores(), FileSource(root), now_s=4e9))
    node.locked, node.gone = "", "/in/x/y"
    with pytest.raises(TransientError, match="/in/x/y vanished while it was being listed"):
        list(list_files(Stores(), FileSource(root), now_s=4e9))
