"""A web server with the index of a folder."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer

Handler = type[BaseHTTPRequestHandler]


class Folder(SimpleHTTPRequestHandler):
    """Serves a folder, with indexes."""

    served = ""

    def translate_path(self, path: str) -> str:
        """Return a path on disk."""
        self.directory = self.served
        return super().translate_path(path)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


def serving(handler: Handler) -> Iterator[str]:
    """Provide the address of a server on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
