"""A proxy on loopback that cuts answers off, as networks do."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count

from tests.servers.processes import free_port

_CHUNK = 65536


@dataclass
class Breaking:
    """Passes on what comes and goes; of the next `cuts` answers longer than `after` bytes, no more than those.

    Attributes:
        made: how many answers were cut off.
    """

    upstream: int  # a port of loopback
    after: int
    cuts: int
    port: int = field(default_factory=free_port)
    made: int = 0

    def serve(self, listening: socket.socket) -> None:
        """Take connections until the socket is closed."""
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(("127.0.0.1", self.upstream))
                for pump, ends in ((self._ask, (client, server)), (self._answer, (server, client))):
                    threading.Thread(target=pump, args=ends, daemon=True).start()

    def _ask(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(_CHUNK):
                target.sendall(data)
        _close(source, target)

    def _answer(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            for number in count(1):
                data = source.recv(_CHUNK)
                if not data or (self.made < self.cuts and number * _CHUNK > self.after):
                    self.made += bool(data)
                    break
                target.sendall(data)
        _close(source, target)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def breaking(upstream: int, *, after: int, cuts: int) -> Iterator[Breaking]:
    """Give a proxy before a server on loopback."""
    proxy = Breaking(upstream, after, cuts)
    with socket.create_server(("127.0.0.1", proxy.port)) as listening:
        thread = threading.Thread(target=proxy.serve, args=(listening,))
        thread.start()
        try:
            yield proxy
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
