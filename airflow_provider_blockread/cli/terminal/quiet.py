"""Hiding what a terminal need not show: a JVM's start-up messages, and stack traces in the logs of libraries."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2
_CHUNK_BYTES = 64 * 2**10


class _WithoutTraces(logging.Formatter):
    def formatException(self, ei: object) -> str:  # noqa: N802 - the name of the class above
        del ei
        return ""


def log_without_traces() -> None:
    """Show what libraries log without stack traces, unless someone has set up logging: they raise the error, too."""
    if not logging.root.handlers:
        handler = logging.StreamHandler()
        handler.setLevel(logging.WARNING)
        handler.setFormatter(_WithoutTraces())
        logging.root.addHandler(handler)


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
