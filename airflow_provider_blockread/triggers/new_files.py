"""A trigger that waits for new files of a feed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from airflow.sdk import timezone
from airflow.triggers.base import TriggerEvent

from airflow_provider_blockread.errors import BlockReadError, PermanentError, to_fields
from airflow_provider_blockread.triggers.helpers import ask, kept
from airflow_provider_blockread.triggers.own import OwnTrigger, access, fired


class NewFilesTrigger(OwnTrigger):
    """Fires once, when a feed has enough new files, with what was found; or with the error that ended the wait.

    :param query: what to look for, as `NewFilesQuery.to_json` writes it, with names of connections but no credentials.
    :param ledger_conn_id: the ledger's connection.
    :param run: the DAG run that waits, for a ledger without a memory.
    :param poke_interval: seconds before each look.
    :param backoff: doubles the interval after each look, up to `longest` seconds; the wait ends at `until`, in seconds
        since 1970, and the last look is one `poke_interval` before. None keeps the interval constant.
    :param silent_fail: continue when the store or the ledger fails.
    """

    def __init__(
        self,
        *,
        query: Mapping[str, Any],
        ledger_conn_id: str | None = None,
        run: str = "",
        poke_interval: float = 60.0,
        backoff: Mapping[str, float] | None = None,
        silent_fail: bool = False,
    ) -> None:
        super().__init__(ledger_conn_id, run)
        self.query = dict(query)
        self.poke_interval = poke_interval
        self.backoff = backoff
        self.silent_fail = silent_fail

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Poll, and yield one event."""
        wait = self.poke_interval
        payload = None
        async with kept():
            while payload is None:
                await asyncio.sleep(wait)
                payload = await self._payload()
                wait = self._next_wait(wait)
        yield fired(payload)

    def _next_wait(self, wait: float) -> float:
        if self.backoff is None:
            return wait
        left = self.backoff["until"] - timezone.utcnow().timestamp()
        return min(2 * max(wait, 1.0), self.backoff["longest"], max(left - self.poke_interval, self.poke_interval))

    async def _payload(self) -> dict[str, Any] | None:
        """Return the event payload of one listing, or None to list again."""
        try:
            found = await self.poll()
        except BlockReadError as error:
            if isinstance(error, PermanentError) or not self.silent_fail:
                return to_fields(error)
            self.log.warning("%s", error)
            return None
        return found if found["why"] else None

    async def poll(self) -> dict[str, Any]:
        """Return what one look finds, as `FilesFound.to_json` writes it; the event loop continues meanwhile.

        Raises:
            BlockReadError: as `find_new_files` does.
        """
        way = await access(self.query["source"], self.ledger_conn_id, run=self.run_name)
        return await ask({"do": "find", "query": self.query} | way, self.log.info)
