"""Work that blocks, beside the triggerer's event loop: in a few threads, and told to stop when nobody waits for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from airflow_provider_blockread.errors import BlockReadError

#: Listings that one triggerer runs at once; further ones wait for their turn, so that many sensors load it no more.
THREADS = 4

_POOL = ThreadPoolExecutor(max_workers=THREADS, thread_name_prefix="blockread")
T = TypeVar("T")


class StoppedError(BlockReadError):
    """Nobody waits for the work any longer."""


class Work:
    """What a trigger does in threads, until it ends."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    async def run(self, function: Callable[[], T]) -> T:
        """Return what the function returns, run in a thread; cancelled, the thread is told to stop."""
        try:
            return await asyncio.get_running_loop().run_in_executor(_POOL, copy_context().run, self._begun, function)
        except asyncio.CancelledError:
            self.stop()
            raise

    def stop(self) -> None:
        """Let what runs end at its next `go_on`, and what waits for its turn not begin."""
        self._stopped.set()

    def go_on(self) -> None:
        """End the thread that calls this once `stop` was called.

        Raises:
            StoppedError: then.
        """
        if self._stopped.is_set():
            msg = "the trigger has ended, and its listing with it; nothing is to be done"
            raise StoppedError(msg)

    def _begun(self, function: Callable[[], T]) -> T:
        self.go_on()
        return function()
