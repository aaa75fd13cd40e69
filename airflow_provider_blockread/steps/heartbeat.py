"""A heartbeat during blocking work: records that a claim is alive, and stops the work once the claim is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from airflow_provider_blockread.errors import ConflictError, TransientError


@contextmanager
def beating(beat: Callable[[], None], *, interval_s: float, on_lost: Callable[[], None]) -> Iterator[None]:
    """Call `beat` every `interval_s` seconds while the body runs; at the first conflict call `on_lost`, and stop.

    A ledger that cannot be reached for a while does not stop the work: completing it is fenced all the same.

    Raises:
        ConflictError: what `beat` raised, once the body has ended.
    """
    done = threading.Event()
    lost: list[ConflictError] = []

    def run() -> None:
        while not done.wait(interval_s):
            try:
                beat()
            except ConflictError as error:
                lost.append(error)
                on_lost()
                return
            except TransientError:
                continue

    thread = threading.Thread(target=run, name="blockread-heartbeat", daemon=True)
    thread.start()
    try:
        yield
    except Exception:
        if lost:
            raise lost[0] from None
        raise
    finally:
        done.set()
        thread.join()
    if lost:
        raise lost[0]
