"""Waits in the triggerer for new files of a feed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_blockread.errors import BlockReadError, PermanentError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.options.values import from_json
from airflow_provider_blockread.triggers.access import Access
from airflow_provider_blockread.triggers.threads import Work

if TYPE_CHECKING:
    from airflow_provider_blockread.steps.looking_for_files import FilesFound


class NewFilesTrigger(BaseTrigger):
    """Fires once, when a feed has enough new files, with what was found; or with the error that ended the wait.

    :param lookout: what to look for, as `Lookout.to_json` writes it. Names of connections, no credentials.
    :param ledger_conn_id: the ledger's connection.
    :param run: the DAG run that waits, for a ledger that forgets.
    :param poke_interval: seconds before each look.
    :param exponential_backoff: double the interval after each look.
    :param max_wait: seconds that the interval grows to.
    :param silent_fail: go on when the store or the ledger fails.
    """

    def __init__(  # noqa: PLR0913 - keyword-only, as Airflow hands them back
        self,
        *,
        lookout: Mapping[str, Any],
        ledger_conn_id: str | None = None,
        run: str = "",
        poke_interval: float = 60.0,
        exponential_backoff: bool = False,
        max_wait: float | None = None,
        silent_fail: bool = False,
    ) -> None:
        super().__init__()
        self.lookout = dict(lookout)
        self.ledger_conn_id = ledger_conn_id
        self.run_name = run
        self.poke_interval = poke_interval
        self.exponential_backoff = exponential_backoff
        self.max_wait = max_wait
        self.silent_fail = silent_fail
        self._work = Work()

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, which go through JSON."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {
            "lookout": self.lookout,
            "ledger_conn_id": self.ledger_conn_id,
            "run": self.run_name,
            "poke_interval": self.poke_interval,
            "exponential_backoff": self.exponential_backoff,
            "max_wait": self.max_wait,
            "silent_fail": self.silent_fail,
        }

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look again and again, and yield one event."""
        for_ever = self.max_wait or float("inf")
        wait = self.poke_interval
        while True:
            await asyncio.sleep(min(wait, for_ever))
            if self.exponential_backoff:
                wait = min(2 * max(wait, 1.0), 86_400.0)
            try:
                found = await self.look()
            except BlockReadError as error:
                if isinstance(error, PermanentError) or not self.silent_fail:
                    yield TriggerEvent({"error": type(error).__name__, "message": str(error)})
                    return
                self.log.error("%s", error)
                continue
            if found.why:
                yield TriggerEvent(found.to_json())
                return

    async def look(self) -> FilesFound:
        """Return what one look finds; the event loop goes on meanwhile.

        Raises:
            BlockReadError: as `look_for_files` does.
        """
        source = cast("FileSource", from_json(self.lookout["source"]))
        access = await Access.fetch(source, self.ledger_conn_id, run=self.run_name)
        return await self._work.run(lambda: self._look(access))

    def _look(self, access: Access) -> FilesFound:
        from airflow_provider_blockread.steps.looking_for_files import Lookout, look_for_files  # noqa: PLC0415 - as there

        with access.environment(self.log.info) as env:
            return look_for_files(env, Lookout.from_json(self.lookout), go_on=self._work.go_on)

    async def cleanup(self) -> None:
        """Let the thread end."""
        self._work.stop()
