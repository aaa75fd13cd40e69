"""How a watch hears of files before it lists them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.values import Value


@dataclass(frozen=True)
class StorageEvents(Value):
    """A queue to which a store writes a message for each object that lands: S3's or Azure's, as they are or wrapped.

    `queue` is its URL, `conn_id` the Airflow connection for it (ambient identity without one). Every `reconcile`
    seconds the source is listed all the same. `queue_class` is the import path of a class that takes both and is
    a `HintQueue`; without it, the URL tells whether the queue is Azure's or one of Amazon SQS.
    """

    kind: ClassVar[str] = "storage_events"
    queue: str
    _: KW_ONLY
    conn_id: str | None = None
    reconcile: float = 3600.0  # seconds
    queue_class: str | None = None

    def __post_init__(self) -> None:
        """Refuse a queue without a name, and a URL that holds a password or a signature."""
        address, _, query = self.queue.partition("?")
        if not address.strip() or "@" in address.partition("://")[2].partition("/")[0] or "sig=" in query:
            msg = "storage_events: queue must be the queue's URL, without a password; name a connection by conn_id"
            raise OptionsError(msg)
