"""YARN's resource manager, as far as its REST API is asked for one application."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class ResourceManager:
    """Answers with the application's states, and remembers what it was asked to do."""

    def __init__(self, url: str) -> None:
        """Say that the application runs."""
        self.url = url
        self.state, self.final = "RUNNING", "UNDEFINED"
        self.asked: list[str] = []
        self.down = False
        self.hangs = threading.Event()  # as long as it is not set
        self.hangs.set()


@contextmanager
def resource_manager() -> Iterator[ResourceManager]:
    """Run one on loopback."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({"app": {"state": manager.state, "finalStatus": manager.final, "diagnostics": "x"}})

        def do_PUT(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            manager.asked.append(f"{self.path} {body}")
            self._answer({})

        def _answer(self, body: object) -> None:
            manager.hangs.wait(60)
            self.send_response(503 if manager.down else 200)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    manager = ResourceManager(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield manager
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
