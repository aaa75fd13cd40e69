"""Hiding a JVM's start-up messages, unless the JVM does not start."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2
_CHUNK_BYTES = 64 * 2**10


@contextmanager
def quiet_start() -> Iterator[None]:
    """Hold back the standard error of programs started in the body, and show it if the body fails.

    These programs keep the pipe, so their later output is forwarded.
    """
    terminal = os.dup(_STDERR)
    source, target = os.pipe()
    held: list[bytes] = []
    started = threading.Event()

    def forward() -> None:
        while chunk := os.read(source, _CHUNK_BYTES):
            if started.is_set():
                os.write(terminal, chunk)
            else:
                held.append(chunk)

    os.dup2(target, _STDERR)
    os.close(target)
    threading.Thread(target=forward, name="blockread-stderr", daemon=True).start()
    try:
        yield
    except BaseException:
        os.write(terminal, b"".join(held))
        raise
    finally:
        started.set()
        os.dup2(terminal, _STDERR)
