"""A heartbeat during blocking work: it records that a claim is alive, and stops the work once the claim is lost."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from airflow_provider_blockread.errors import ConflictError, TransientError
from airflow_provider_blockread.periodic import repeating

_log = logging.getLogger(__name__)


@contextmanager
def beating(beat: Callable[[], None], *, interval_s: float, on_lost: Callable[[], None]) -> Iterator[None]:
    """Call `beat` every `interval_s` seconds while the body runs; at the first conflict call `on_lost`, and stop.

    A ledger that is temporarily unreachable does not stop the work, nor does another error of `beat`: the completion of
    the work is fenced in any case.

    Raises:
        ConflictError: the error that `beat` raised, once the body has ended.
    """
    lost: list[ConflictError] = []

    def still_ours() -> bool:
        try:
            with suppress(TransientError):
                beat()
        except ConflictError as error:
            lost.append(error)
            on_lost()
        except Exception:  # noqa: BLE001 - the work would seem dead, and another owner take over, if the beat ended here
            _log.warning("a heartbeat failed, and the next one follows", exc_info=True)
        return not lost

    try:
        with repeating(still_ours, every_s=interval_s, name="blockread-heartbeat"):
            yield
    except Exception:
        if lost:
            raise lost[0] from None
        raise
    if lost:
        raise lost[0]
