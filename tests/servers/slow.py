"""A proxy on loopback that holds each request for a while, as a distant store does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.servers.processes import free_port

_CHUNK = 65536


@dataclass
class Slow:
    """Passes on what comes and goes; each piece that comes waits first, and so does each request of one piece.

    Attributes:
        most: how many requests waited at once.
    """

    upstream: int  # a port of loopback
    seconds: float
    port: int = field(default_factory=free_port)
    most: int = 0
    _waiting: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def serve(self, listening: socket.socket) -> None:
        """Take connections until the socket is closed."""
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(("127.0.0.1", self.upstream))
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pump, args=(client, server, self._hold), daemon=True).start()
                threading.Thread(target=self._pump, args=(server, client, lambda: None), daemon=True).start()

    def _hold(self) -> None:
        with self._lock:
            self._waiting += 1
            self.most = max(self.most, self._waiting)
        time.sleep(self.seconds)
        with self._lock:
            self._waiting -= 1

    @staticmethod
    def _pump(source: socket.socket, target: socket.socket, before: Callable[[], None]) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                before()
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def slow(upstream: int, *, seconds: float) -> Iterator[Slow]:
    """Give a proxy before a server on loopback that holds each request for that time."""
    proxy = Slow(upstream, seconds)
    with socket.create_server(("127.0.0.1", proxy.port), backlog=128) as listening:
        thread = threading.Thread(target=proxy.serve, args=(listening,))
        thread.start()
        try:
            yield proxy
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
