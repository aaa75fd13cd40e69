"""One watch of a source, shared by all event triggers of it: it scans, or takes hints, and tells how far it is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import structlog
from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from airflow_provider_blockread.errors import BlockReadError, printable
from airflow_provider_blockread.hooks.queues import HintQueue, open_queue
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.triggers.access import access
from airflow_provider_blockread.triggers.helpers import ask, kept

_FIRST_PAUSE_S = 5.0  # between tries, while the store or the ledger fails; doubled up to the interval
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The feed's index was brought up to date: files up to the mark `newest` wait in it.

    Marks are those of one ledger; up to `before`, it knew files when this look began.
    """

    number: int
    ledger: str
    before: int
    newest: int
    only_scan: int = 0  # files of which a scan knew, and no storage event had told


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What was told up to this number is in Airflow's database: a cursor may move past it."""

    number: int


class SourceWatch(SharedStreamProducer):
    """Lists a source at an interval into the feed's index; with a queue, takes its hints meanwhile.

    Args:
        lookout: what to watch, as `Lookout.from_json` takes it.
        scan: seconds between scans, or `StorageEvents` as JSON.
        ledger_conn_id: the ledger's connection.
    """

    def __init__(self, lookout: dict[str, Any], scan: float | Mapping[str, Any], ledger_conn_id: str | None) -> None:
        self._lookout = lookout
        self._hints = scan if isinstance(scan, Mapping) else None
        self._interval = float(scan["reconcile"] if isinstance(scan, Mapping) else scan)
        self._ledger_conn_id = ledger_conn_id
        self._stored = 0
        self._wake = asyncio.Event()
        self._failures = 0
        self._queue: HintQueue | None = None

    async def open_stream(self) -> AsyncIterator[tuple[Seen | Stored, int]]:
        """Yield what was seen and what was stored, for ever, each with its number."""
        number = told = 0
        next_scan = time.monotonic()
        async with kept():
            while True:
                if told < self._stored:
                    told = self._stored
                    yield Stored(number=told), 0
                scans = time.monotonic() >= next_scan
                seen = await self._look(scans=scans)
                if scans:
                    next_scan = time.monotonic() + self._pause()
                if seen is not None:
                    number += 1
                    only_scan = int(seen["new"]) if scans and self._hints and number > 1 else 0
                    marks = {"ledger": seen["ledger"], "before": seen["before"], "newest": seen["newest"]}
                    yield Seen(number=number, only_scan=only_scan, **marks), number
                if self._hints is None or self._failures:
                    await self._rest(min(next_scan - time.monotonic(), self._pause()))

    async def _look(self, *, scans: bool) -> dict[str, Any] | None:
        """Return what a scan came to, or else what hints did; None for nothing."""
        if scans:
            return await self._tried(self._scan)
        return None if self._hints is None else await self._tried(self._take_hints)

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Note up to where events are stored."""
        stored = max((int(item.broker_payload) for item in batch), default=0)
        if stored > self._stored:
            self._stored = stored
            self._wake.set()

    async def _rest(self, seconds: float) -> None:
        """Wait, but no longer than until something was stored."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._wake.wait()
        except TimeoutError:
            return
        finally:
            self._wake.clear()

    def _pause(self) -> float:
        """Return the seconds until the next scan: sooner after a failure, but later from one to the next."""
        return min(self._interval, _FIRST_PAUSE_S * 2**self._failures) if self._failures else self._interval

    async def _tried(self, look: Callable[[dict[str, Any]], Any]) -> dict[str, Any] | None:
        """Return what a look came to; a failure is told in the log, and the watch goes on."""
        try:
            source = cast("FileSource", from_json(self._lookout["source"]))
            found: dict[str, Any] | None = await look(await access(source, self._ledger_conn_id))
        except BlockReadError as error:
            self._failures = min(self._failures + 1, 10)
            _log.error("the watch of feed %s failed, and tries again: %s", printable(self._lookout["feed"]), error)
            return None
        self._failures = 0
        return found

    async def _scan(self, way: dict[str, Any]) -> dict[str, Any]:
        return await ask({"do": "list", "lookout": self._lookout} | way, _log.info)

    async def _take_hints(self, way: dict[str, Any]) -> dict[str, Any] | None:
        if self._queue is None:
            self._queue = await open_queue(self._hints or {})
        messages = await asyncio.to_thread(self._queue.receive)
        if not messages:
            return None
        bodies = [message.body for message in messages]
        found = await ask({"do": "hint", "lookout": self._lookout, "bodies": bodies} | way, _log.info)
        later = set(found["later"])
        done = [message for place, message in enumerate(messages) if place not in later]
        # They lie in the ledger by now: a crash before this only brings them back.
        await asyncio.to_thread(self._queue.done, done)
        return found
