"""Storage events, which tell a watch about new files before it lists them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.values import Value


@dataclass(frozen=True)
class StorageEvents(Value):
    """A queue to which a store writes a message for each new object: S3 or Azure messages, possibly inside others.

    `queue` is its URL, and `conn_id` the Airflow connection for it (default: the ambient identity). The source is still
    listed every `reconcile` seconds. `queue_class` is the import path of a `HintQueue` whose constructor takes both; by
    default the URL decides between Azure and Amazon SQS.
    """

    kind: ClassVar[str] = "storage_events"
    queue: str
    _: KW_ONLY
    conn_id: str | None = None
    reconcile: float = 3600.0  # seconds
    queue_class: str | None = None

    def __post_init__(self) -> None:
        address, _, query = self.queue.partition("?")
        if not address.strip() or "@" in address.partition("://")[2].partition("/")[0] or "sig=" in query:
            msg = "storage_events: queue must be the queue's URL, without a password; name a connection by conn_id"
            raise OptionsError(msg)
