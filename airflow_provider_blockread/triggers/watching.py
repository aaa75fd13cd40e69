"""One watch of a source, shared by all of its event triggers: it lists, or receives hints, and reports marks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from airflow.triggers.shared_stream import AdvanceItem, SharedStreamProducer

from airflow_provider_blockread.errors import BlockReadError, printable
from airflow_provider_blockread.hooks.queues import HintQueue, open_queue
from airflow_provider_blockread.triggers.helpers import ask, kept
from airflow_provider_blockread.triggers.own import access

_FIRST_PAUSE_S = 5.0  # between tries while the store or the ledger fails; doubled up to the interval
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """The feed's index is up to date: files up to the mark `newest` wait in it.

    Marks belong to one ledger; `before` is its newest mark when this update began.
    """

    number: int
    ledger: str
    before: int
    newest: int
    only_listed: int = 0  # files that a listing found, but no storage event had named


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """Airflow's database has stored the events up to this number, so that a cursor may move past them."""

    number: int


class SourceWatch(SharedStreamProducer):
    """Lists a source into the feed's index at an interval, and in between reads hints from a queue, if there is one.

    Args:
        query: what to watch, as JSON for `NewFilesQuery.from_json`.
        listing: seconds between two listings, or `StorageEvents` as JSON.
        ledger_conn_id: the ledger's connection.
    """

    def __init__(self, query: dict[str, Any], listing: float | Mapping[str, Any], ledger_conn_id: str | None) -> None:
        self._query = query
        self._hints = listing if isinstance(listing, Mapping) else None
        self._interval = float(listing["reconcile"] if isinstance(listing, Mapping) else listing)
        self._ledger_conn_id = ledger_conn_id
        self._stored = 0
        self._wake = asyncio.Event()
        self._failures = 0
        self._queue: HintQueue | None = None

    async def open_stream(self) -> AsyncIterator[tuple[Marks | Stored, int]]:
        """Yield marks, and what is stored, each with its number, forever."""
        number = reported = 0
        next_listing = time.monotonic()
        async with kept():
            while True:
                if reported < self._stored:
                    reported = self._stored
                    yield Stored(number=reported), 0
                lists = time.monotonic() >= next_listing
                seen = await self._update(lists=lists)
                if lists:
                    next_listing = time.monotonic() + self._pause()
                if seen is not None:
                    number += 1
                    only_listed = int(seen["new"]) if lists and self._hints and number > 1 else 0
                    marks = {"ledger": seen["ledger"], "before": seen["before"], "newest": seen["newest"]}
                    yield Marks(number=number, only_listed=only_listed, **marks), number
                if self._hints is None or self._failures:
                    await self._rest(min(next_listing - time.monotonic(), self._pause()))

    async def _update(self, *, lists: bool) -> dict[str, Any] | None:
        """Update the feed's index by a listing or by hints, and return the marks, or None if there are none."""
        if lists:
            return await self._tried(self._list)
        return None if self._hints is None else await self._tried(self._record_hints)

    async def advance(self, batch: Sequence[AdvanceItem]) -> None:
        """Remember up to which number events are stored."""
        stored = max((int(item.broker_payload) for item in batch), default=0)
        if stored > self._stored:
            self._stored = stored
            self._wake.set()

    async def _rest(self, seconds: float) -> None:
        """Wait this many seconds, or until events are stored."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._wake.wait()
        except TimeoutError:
            return
        finally:
            self._wake.clear()

    def _pause(self) -> float:
        """Return the seconds until the next listing: shorter after a failure, and doubled with each further one."""
        return min(self._interval, _FIRST_PAUSE_S * 2**self._failures) if self._failures else self._interval

    async def _tried(self, update: Callable[[dict[str, Any]], Any]) -> dict[str, Any] | None:
        """Return the result of an update; a failure is logged, and the watch continues."""
        try:
            found: dict[str, Any] | None = await update(await access(self._query["source"], self._ledger_conn_id))
        except BlockReadError as error:
            self._failures = min(self._failures + 1, 10)
            self._queue = None  # its connection may be another one when it is opened again
            _log.error("the watch of feed %s failed and will retry: %s", printable(self._query["feed"]), error)
            return None
        self._failures = 0
        return found

    async def _list(self, way: dict[str, Any]) -> dict[str, Any]:
        return await ask({"do": "list", "query": self._query} | way, _log.info)

    async def _record_hints(self, way: dict[str, Any]) -> dict[str, Any] | None:
        if self._queue is None:
            self._queue = await open_queue(self._hints or {})
        messages = await asyncio.to_thread(self._queue.receive)
        if not messages:
            return None
        bodies = [message.body for message in messages]
        found = await ask({"do": "hint", "query": self._query, "bodies": bodies} | way, _log.info)
        later = set(found["later"])
        done = [message for place, message in enumerate(messages) if place not in later]
        # The ledger has the files by now; after a crash before this line the queue delivers the messages again.
        await asyncio.to_thread(self._queue.done, done)
        return found
