"""Objects that are marked as compressed: they are read as they are stored, whatever their clients do."""

from __future__ import annotations

import gzip
import json
import random
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from azure.storage.blob import ContainerClient, ContentSettings

from airflow_provider_blockread.options import Bounds, FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
from airflow_provider_blockread.storage.versions import open_version
from tests.servers.store import Store
from tests.servers.web_folder import serving

PLAIN = b"".join(b"line %d\n" % number for number in range(1000))
#: Compressed, and marked so by mistake; the last one takes two requests.
MARKED = {
    "a.gz": gzip.compress(PLAIN),
    "b.txt": PLAIN,
    "c.gz": gzip.compress(random.Random(1).randbytes(5 * 2**20)),
}


def read_all(stores: Stores, root: str) -> dict[str, bytes]:
    """Return what is read of each file of a root, by its name."""
    found = {}
    for version in list_files(stores, FileSource(root), now_s=4e9):
        with open_version(stores, version, Bounds()) as file:
            pieces = iter(lambda file=file: file.read(2**20), b"")  # type: ignore[misc]
            found[version.path.removeprefix(f"{root}/")] = b"".join(pieces)
    return found


def test_blobs_that_are_marked_as_compressed(azurite: Store) -> None:
    """Azure's client would decompress each range."""
    root = azurite.new_root()
    container = ContainerClient.from_connection_string(
        str(azurite.options["connection_string"]), root.removeprefix("abfs://")
    )
    for name, data in MARKED.items():
        container.upload_blob(name, data, content_settings=ContentSettings(content_encoding="gzip"))

    assert read_all(azurite.stores(root), root) == MARKED


class Google(BaseHTTPRequestHandler):
    """Objects as Google gives them: decompressed and without ranges, unless the client accepts them compressed."""

    def do_GET(self) -> None:
        """Answer with a listing, an object's metadata or its bytes."""
        name, headers = urlsplit(self.path).path.rpartition("/")[2], {}
        if self.path.startswith("/download"):
            body, headers = MARKED[name], {"X-Goog-Generation": "7"}
            if "gzip" in self.headers.get("Accept-Encoding", ""):
                first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
                body, headers["Content-Encoding"] = body[first : last + 1], "gzip"
            else:
                body = gzip.decompress(body)
        else:
            items = [{"name": key, "size": str(len(data)), "generation": "7"} for key, data in MARKED.items()]
            body = json.dumps({"items": items}).encode()
        self.send_response(206 if "Range" in self.headers else 200)
        for key, value in headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def test_objects_of_google_that_are_marked_as_compressed() -> None:
    """Google would decompress them, and gcsfs each range."""
    for address in serving(Google):
        stores = Stores({"gs://b": {"token": "anon", "project": "tests", "endpoint_url": address}})

        assert read_all(stores, "gs://b") == MARKED
