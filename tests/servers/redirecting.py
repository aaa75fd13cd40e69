"""Web servers that redirect to each other."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Server:
    """A server on loopback: its answers and redirects by path."""

    port: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    moved: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)  # method, path, headers

    def url(self, path: str = "", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        """Return an address of the server."""
        return f"{scheme}://{host}:{self.port}{path}"

    def paths(self) -> set[str]:
        """Return the requested paths."""
        return {path for _, path, _ in self.asked}


class Handler(BaseHTTPRequestHandler):
    """Answers as its server says."""

    shown: Server

    def do_GET(self) -> None:
        """Answer or redirect."""
        self.shown.asked.append((self.command, self.path, {name.lower(): text for name, text in self.headers.items()}))
        data = self.shown.files.get(self.path, b"")
        first, last = 0, len(data) - 1
        if (asked := self.headers.get("Range")) is not None:
            first, last = (int(number) for number in asked.removeprefix("bytes=").split("-"))
        if (target := self.shown.moved.get(self.path)) is not None:
            self.send_response(302)
            self.send_header("Location", target)
            data = b""
        elif self.path not in self.shown.files:
            self.send_response(404)
            data = b""
        else:
            self.send_response(206 if asked else 200)
            self.send_header("ETag", '"1"')
            self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "text/csv")
            data = data[first : last + 1]
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(data)

    def do_HEAD(self) -> None:
        """Answer without the body."""
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def serving(context: ssl.SSLContext | None = None, handler: type[Handler] = Handler) -> Iterator[Server]:
    """Provide a server."""
    shown = Server()
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Here", (handler,), {"shown": shown})) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        shown.port = server.server_port
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield shown
        finally:
            server.shutdown()
            thread.join()
