"""Proxies on loopback: one cuts answers off, as networks do, another holds requests, as a distant store does."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import TypeVar

from tests.servers.processes import free_port

_CHUNK = 65536


@dataclass
class Proxy:
    """Passes on what comes and goes; a subclass decides, for each piece of a connection, whether and when."""

    upstream: int  # a port of loopback
    port: int = field(default_factory=free_port, kw_only=True)

    def asking(self) -> Callable[[], bool]:
        """Return, for a connection, what says of each piece of its requests whether to pass it on."""
        return lambda: True

    def answering(self) -> Callable[[], bool]:
        """Return the same for its answers."""
        return lambda: True

    def serve(self, listening: socket.socket) -> None:
        """Take connections until the socket is closed."""
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                server = socket.create_connection(("127.0.0.1", self.upstream))
                for end in (client, server):
                    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for pieces in ((client, server, self.asking()), (server, client, self.answering())):
                    threading.Thread(target=_pump, args=pieces, daemon=True).start()


@dataclass
class Breaking(Proxy):
    """Of the next `cuts` answers longer than `after` bytes, passes on no more than those.

    Attributes:
        made: how many answers were cut off.
    """

    after: int = 0
    cuts: int = 0
    made: int = 0

    def answering(self) -> Callable[[], bool]:
        """Return what cuts an answer off."""
        numbers = count(1)

        def passes() -> bool:
            cut = next(numbers) * _CHUNK > self.after and self.made < self.cuts
            self.made += cut
            return not cut

        return passes


@dataclass
class Slow(Proxy):
    """Holds each piece that comes for a while, and so each request of one piece.

    Attributes:
        most: how many requests waited at once.
    """

    seconds: float = 0.0
    most: int = 0
    _waiting: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def asking(self) -> Callable[[], bool]:
        """Return what holds each piece."""
        return self._hold

    def _hold(self) -> bool:
        with self._lock:
            self._waiting += 1
            self.most = max(self.most, self._waiting)
        time.sleep(self.seconds)
        with self._lock:
            self._waiting -= 1
        return True


_P = TypeVar("_P", bound=Proxy)


@contextmanager
def running(proxy: _P) -> Iterator[_P]:
    """Run a proxy before a server on loopback."""
    with socket.create_server(("127.0.0.1", proxy.port), backlog=128) as listening:
        thread = threading.Thread(target=proxy.serve, args=(listening,))
        thread.start()
        try:
            yield proxy
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


def _pump(source: socket.socket, target: socket.socket, passes: Callable[[], bool]) -> None:
    with suppress(OSError):
        while (data := source.recv(_CHUNK)) and passes():
            target.sendall(data)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
