"""What the triggers of this package share: their arguments, their events, and access to the ledger and the stores."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Any, cast

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_blockread.hooks.ledger import LedgerHook
from airflow_provider_blockread.hooks.stores import aaccess_of, acredentials_for
from airflow_provider_blockread.options.values import from_json

if TYPE_CHECKING:
    from airflow_provider_blockread.options import FileSource, Sink


class OwnTrigger(BaseTrigger):
    """A trigger whose arguments, JSON values without credentials, are its attributes; that of `run` is `run_name`."""

    def __init__(self, ledger_conn_id: str | None, run: str = "") -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.ledger_conn_id, self.run_name = ledger_conn_id, run

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments."""
        names = signature(type(self)).parameters
        given = {name: getattr(self, "run_name" if name == "run" else name) for name in names}
        return f"{type(self).__module__}.{type(self).__qualname__}", given


def fired(payload: dict[str, Any]) -> TriggerEvent:
    """Return the event with this payload."""
    return TriggerEvent(payload)  # type: ignore[no-untyped-call]


async def access(
    source: Mapping[str, Any] | None,
    ledger_conn_id: str | None,
    *,
    run: str = "",
    sink: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return `ledger`, `stores` and `access` of a request; connections are awaited, as the triggerer requires.

    `source` and `sink` are as JSON. The result contains credentials: pass it only to a helper's standard input.

    Raises:
        OptionsError: when a connection is missing or of the wrong type.
    """
    read = cast("FileSource | None", None if source is None else from_json(source))
    written = cast("Sink | None", None if sink is None else from_json(sink))
    ledger, stores, catalogs = await asyncio.gather(
        LedgerHook(ledger_conn_id, run=run).alocate(), acredentials_for(read, written), aaccess_of(written)
    )
    return {"ledger": ledger, "stores": stores, "access": catalogs}
