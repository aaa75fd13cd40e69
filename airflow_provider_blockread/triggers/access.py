"""The ledger and the stores of a trigger: connections are awaited, all else is opened in a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.hooks.stores import acredentials_for

if TYPE_CHECKING:
    from airflow.sdk import Connection

    from airflow_provider_blockread.hooks.stores import Credentials
    from airflow_provider_blockread.options import FileSource
    from airflow_provider_blockread.steps import Environment


@dataclass(frozen=True, kw_only=True)
class Access:
    """What opens ledger and stores, fetched anew for each look, so that a changed connection is soon used."""

    hook: LedgerHook
    connection: Connection | None = field(repr=False)
    credentials: Credentials = field(repr=False)

    @classmethod
    async def fetch(cls, source: FileSource, ledger_conn_id: str | None, *, run: str = "") -> Access:
        """Return what Airflow's connections say now, without holding up the event loop.

        Raises:
            OptionsError: when a connection is missing or of the wrong type.
        """
        hook = LedgerHook(ledger_conn_id, run=run)
        return cls(hook=hook, connection=await hook.afind_connection(), credentials=await acredentials_for(source))

    @contextmanager
    def environment(self, log: Callable[[str], None]) -> Iterator[Environment]:
        """Give the environment of a step, in a thread; the ledger is closed at the end.

        Raises:
            BlockReadError: when the ledger cannot be used.
        """
        from airflow_provider_blockread.steps import Environment  # noqa: PLC0415 - takes long, so in the thread
        from airflow_provider_blockread.storage.stores import Stores  # noqa: PLC0415

        ledger = self.hook.open(self.connection)
        try:
            yield Environment(ledger=ledger, stores=Stores(self.credentials), log=log)
        finally:
            ledger.close()
