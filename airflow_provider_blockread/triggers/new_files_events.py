"""Starts DAGs when a feed has new files: an event trigger for `AssetWatcher`."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Hashable, Mapping, Sequence
from typing import Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent
from airflow.triggers.shared_stream import AdvanceItem, AdvanceOutcome, SharedStreamProducer

from airflow_provider_blockread.blocks.ids import digest
from airflow_provider_blockread.errors import BlockReadError, OptionsError, printable
from airflow_provider_blockread.options import FileSource, Selection, StorageEvents
from airflow_provider_blockread.options.checks import is_template
from airflow_provider_blockread.triggers.helpers import ask
from airflow_provider_blockread.triggers.own import OwnTrigger, access, fired
from airflow_provider_blockread.triggers.watching import Marks, SourceWatch, Stored


class NewFilesEventTrigger(OwnTrigger, BaseEventTrigger):
    """Fires each time a feed has files that were not reported yet, with their number, size, and some of their paths.

    Watchers with the same source, feed, selection, ledger and `listing` share one listing. It records files in the
    feed's index, where they wait until a plan takes them. The DAG that is started plans from the index, so no file is
    lost if Airflow merges or loses an event. The asset's state store keeps how far a watcher has reported; this
    advances once Airflow has stored the event.

    :param source: where files land, and which to take, as in the pipeline's plan.
    :param feed: the feed's name, as in the pipeline: `{dag_id}.{group_id}` unless it sets its own.
    :param selection: as in the pipeline's plan.
    :param only: report only files whose URI matches this glob, at any depth unless it begins with a scheme or slash.
    :param listing: seconds between two listings, or a queue of storage events to use instead.
    :param ledger_conn_id: the ledger's connection, as in the pipeline.
    """

    def __init__(
        self,
        *,
        source: FileSource | Mapping[str, Any],
        feed: str,
        selection: Selection | Mapping[str, Any] = Selection(),
        only: str | None = None,
        listing: float | StorageEvents | Mapping[str, Any] = 60.0,
        ledger_conn_id: str | None = None,
    ) -> None:
        super().__init__(ledger_conn_id)
        self.source = source.to_json() if isinstance(source, FileSource) else dict(source)
        self.feed = feed
        self.selection = selection.to_json() if isinstance(selection, Selection) else dict(selection)
        self.only = only
        self.listing = listing.to_json() if isinstance(listing, StorageEvents) else listing
        self._check()

    def _check(self) -> None:
        """Refuse options with which it would watch nothing, or list without pauses.

        Raises:
            OptionsError: with the option's name.
        """
        watched = [self.source, self.feed, self.selection, self.only]
        if is_template(json.dumps(watched)):
            msg = "a watcher does not belong to a run, so its options must not be templates; write the values out"
            raise OptionsError(msg)
        if not isinstance(self.feed, str) or not self.feed.strip():
            msg = f"feed must be the name that the pipeline has, such as dag_id.group_id, not {self.feed!r}"
            raise OptionsError(msg)
        seconds = not isinstance(self.listing, Mapping)
        if seconds and not (isinstance(self.listing, (int, float)) and self.listing > 0):
            msg = f"listing must be seconds above 0, or a queue of storage events, not {self.listing!r}"
            raise OptionsError(msg)

    def shared_stream_key(self) -> Hashable:
        """Return what the listing depends on: everything except `only`."""
        shared = {name: value for name, value in self.serialize()[1].items() if name != "only"}
        return "blockread", json.dumps(shared, sort_keys=True)

    @classmethod
    def create_shared_stream_producer(cls, kwargs: dict[str, Any]) -> SharedStreamProducer:
        """Return the listing of all triggers with this key."""
        query = {name: kwargs[name] for name in ("feed", "source", "selection")}
        return SourceWatch(query | {"interval_ns": None}, kwargs["listing"], kwargs["ledger_conn_id"])

    async def filter_shared_stream(self, shared_stream: AsyncIterator[Marks | Stored]) -> AsyncIterator[TriggerEvent]:
        """Yield an event for the files after this watcher's cursor."""
        cursor = _Cursor(digest(self.feed, self.only), self._states)
        only_listed = 0
        async for one in shared_stream:
            if isinstance(one, Stored):
                await cursor.stored(one.number)
                continue
            only_listed += one.only_listed
            after = await cursor.at(one)
            if one.newest <= after:
                continue
            found = await self._found(after, one.newest)
            if found is None:
                continue
            cursor.reported(one)
            if found["files"]:
                yield fired(found | {"only_listed": only_listed})
                only_listed = 0

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Yield the same events from a separate listing, for a triggerer that does not share listings."""
        watch = self.create_shared_stream_producer(self.serialize()[1])

        async def alone() -> AsyncIterator[Any]:
            async for raw, number in watch.open_stream():
                yield raw
                await watch.advance([AdvanceItem(number, AdvanceOutcome(acked=1, failed=0))])

        async for event in self.filter_shared_stream(alone()):
            yield event

    async def _found(self, after: int, until: int) -> dict[str, Any] | None:
        """Return the files between two marks, or None if the ledger fails; the next event then has them."""
        request = {"do": "since", "feed": self.feed, "after": after, "until": until, "only": self.only}
        try:
            way = await access(None, self.ledger_conn_id)
            found = await ask(request | way, self.log.info)
        except BlockReadError as error:
            feed = printable(self.feed)
            self.log.error("the watch of feed %s cannot report its files and will retry: %s", feed, error)  # noqa: TRY400
            return None
        return {name: value for name, value in found.items() if name != "why"}

    @property
    def _states(self) -> list[Any]:
        """Return the state stores of the assets with this trigger, which equal watchers of several assets share."""
        store: Any = self.asset_state_store
        return [] if store is None else [*store._by_name.values(), *store._by_uri.values()]  # noqa: SLF001 - no way else


class _Cursor:
    """How far a watcher has reported the files of a ledger; it is saved once Airflow has stored the events.

    Args:
        name: the watcher's name, which is the same after each restart.
        states: where the cursor is kept, by name and the ledger's identity, so that a new ledger begins at 0.
    """

    def __init__(self, name: str, states: Sequence[Any]) -> None:
        self._name, self._states = name, states
        self._ledger, self._mark = "", 0
        self._reported: dict[int, int] = {}  # marks that are not saved yet, by number

    async def at(self, seen: Marks) -> int:
        """Return the mark up to which files of this ledger have been reported."""
        if seen.ledger != self._ledger:
            self._ledger, self._reported = seen.ledger, {}
            self._mark = max([0, *[int(await state.aget(self._key) or 0) for state in self._states]])
        if seen.before < self._mark:  # a ledger restored from a backup assigns the same marks again
            self._mark, self._reported = seen.before, {}
            await self._save(self._mark)
        return self._mark

    def reported(self, seen: Marks) -> None:
        """Remember that everything up to these marks was reported."""
        self._mark = self._reported[seen.number] = seen.newest

    async def stored(self, number: int) -> None:
        """Save the newest mark up to this number."""
        stored = [other for other in self._reported if other <= number]
        if stored:
            await self._save(max(self._reported.pop(other) for other in stored))

    @property
    def _key(self) -> str:
        return f"blockread.{digest(self._name, self._ledger)}"

    async def _save(self, mark: int) -> None:
        for state in self._states:
            await state.aset(self._key, mark)
