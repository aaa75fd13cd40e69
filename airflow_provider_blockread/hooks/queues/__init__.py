"""Queues of storage events, opened by class or URL: a small protocol, with Amazon SQS and Azure's storage queues."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.hooks.queues.azure import AzureQueue
from airflow_provider_blockread.hooks.queues.protocol import HintQueue, Message
from airflow_provider_blockread.hooks.queues.sqs import SqsQueue
from airflow_provider_blockread.hooks.stores import aconnection
from airflow_provider_blockread.options import StorageEvents
from airflow_provider_blockread.options.values import from_json

if TYPE_CHECKING:
    from airflow.sdk import Connection

__all__ = ["AzureQueue", "HintQueue", "Message", "SqsQueue", "open_queue"]

_OF_AMAZON = (".amazonaws.com", ".amazonaws.com.cn")  # older addresses of Amazon contain `.queue.`, too


async def open_queue(option: Mapping[str, Any]) -> HintQueue:
    """Return the queue of an option in JSON; connections are awaited, as in the triggerer.

    Raises:
        OptionsError: when its connection, class or package is missing.
    """
    events = cast("StorageEvents", from_json(option))
    connection = await aconnection(events.conn_id) if events.conn_id else None
    return await asyncio.to_thread(_made, events, connection)


def _made(events: StorageEvents, connection: Connection | None) -> HintQueue:
    if events.queue_class is None:
        host = urlsplit(events.queue).hostname or ""
        is_azure = ".queue." in host and not host.endswith(_OF_AMAZON)
        return (AzureQueue if is_azure else SqsQueue)(events.queue, connection)
    module, _, name = events.queue_class.rpartition(".")
    try:
        make = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        msg = f"queue: there is no {events.queue_class!r} ({error}); name a class by its import path"
        raise OptionsError(msg) from error
    return cast("HintQueue", make(events.queue, connection))
