"""A queue of an Azure storage account, to which Event Grid writes."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.hooks.queues.protocol import Message
from airflow_provider_blockread.hooks.stores import require_type, storage_options
from airflow_provider_blockread.storage.backends.shared.errors import fault_of

if TYPE_CHECKING:
    from airflow.sdk import Connection
    from azure.core.credentials import AzureNamedKeyCredential, AzureSasCredential, TokenCredential

_IDENTITY = ("managed_identity_client_id", "workload_identity_client_id", "workload_identity_tenant_id")
_PAUSES_S = (1.0, 2.0, 3.0, 4.0)  # between requests, as this server does not wait for messages
_HIDDEN_S = 60  # until a received message is delivered again
_MOST = 32  # messages per request
_SILENCE_S = 20
_LOGGER = logging.getLogger(f"{__name__}.requests")
_LOGGER.setLevel(logging.WARNING)  # drops what Azure's client logs for each request
_DONE_WITH = frozenset({"MessageNotFound", "PopReceiptMismatch"})  # the message is gone, or was delivered again


class AzureQueue:
    """A queue of Azure Storage with messages of Event Grid, often in base64, which `read_event` decodes.

    Args:
        url: the queue's URL, such as `https://account.queue.core.windows.net/landing`.
        connection: of type `wasb`, `adls`, `azure_data_lake` or `generic`; default: the ambient identity.
        pauses: seconds between requests while there are no messages.

    Raises:
        OptionsError: when azure-storage-queue is not installed, or the connection or the URL is not for such a queue.
    """

    def __init__(self, url: str, connection: Connection | None, *, pauses: Sequence[float] = _PAUSES_S) -> None:
        try:
            from azure.storage.queue import QueueClient  # noqa: PLC0415 - an extra
        except ImportError as error:
            msg = (
                f"queue: {url} needs azure-storage-queue; install it with"
                " `pip install 'airflow-provider-blockread[azure]'`"
            )
            raise OptionsError(msg) from error
        self._url = url
        self._pauses = pauses
        try:
            self._client = QueueClient.from_queue_url(
                url,
                credential=_credential(url, connection),
                retry_total=0,  # the caller retries
                connection_timeout=_SILENCE_S,
                read_timeout=_SILENCE_S,
                logger=_LOGGER,
            )
        except (KeyError, TypeError, ValueError):  # whose text may quote a secret
            msg = (
                f"queue: {url} cannot be opened; write it as https://ACCOUNT.queue.core.windows.net/QUEUE, and give"
                " the connection a key, a SAS, a connection string or a principal of that account"
            )
            raise OptionsError(msg) from None

    def receive(self) -> list[Message]:
        """Return up to 32 messages."""
        for pause in (*self._pauses, 0.0):
            with self._failing():
                pages = self._client.receive_messages(messages_per_page=_MOST, visibility_timeout=_HIDDEN_S).by_page()
                found = list(next(pages, ()))
            if found:
                break
            time.sleep(pause)
        return [Message(body=one.content or "", receipt=f"{one.id} {one.pop_receipt}") for one in found]

    def done(self, messages: Sequence[Message]) -> None:
        """Delete messages from the queue."""
        for message in messages:
            name, _, receipt = message.receipt.partition(" ")
            with self._failing(but=_DONE_WITH):
                self._client.delete_message(name, receipt)

    @contextmanager
    def _failing(self, but: frozenset[str] = frozenset()) -> Iterator[None]:
        from azure.core.exceptions import AzureError  # noqa: PLC0415 - an extra

        try:
            yield
        except AzureError as error:
            fault = fault_of(error)
            word = fault.word if fault else type(error).__name__
            if word in but:
                return
            msg = f"the queue {self._url} failed ({word}); check that it exists and that the connection has access"
            raise TransientError(msg) from None  # the cause may quote a token


def _credential(
    url: str, connection: Connection | None
) -> AzureNamedKeyCredential | AzureSasCredential | TokenCredential:
    """Return the credential for Azure's client.

    Raises:
        OptionsError: when the connection is of another type.
        ValueError: when its connection string is malformed, or contains no credential.
    """
    from azure.core import credentials  # noqa: PLC0415 - an extra
    from azure.identity import ClientSecretCredential, DefaultAzureCredential  # noqa: PLC0415

    options = _options(connection)
    if options.get("anon"):
        msg = "queues have no anonymous access"
        raise ValueError(msg)
    account = (urlsplit(url).hostname or "").partition(".")[0]
    if key := options.get("account_key"):
        return credentials.AzureNamedKeyCredential(options.get("account_name") or account, key)
    if token := options.get("sas_token"):
        return credentials.AzureSasCredential(token.removeprefix("?"))
    if secret := options.get("client_secret"):
        return ClientSecretCredential(options.get("tenant_id", ""), options.get("client_id", ""), secret)
    return DefaultAzureCredential(**{name: options[name] for name in _IDENTITY if name in options})


def _options(connection: Connection | None) -> Mapping[str, Any]:
    if connection is None:
        return {}
    require_type(connection, ("adls", "azure_data_lake", "generic", "wasb"), "queue: ", "cannot open a queue of Azure")
    options = storage_options(connection)
    text = options.get("connection_string")
    if not isinstance(text, str):
        return options
    from azure.core.utils import parse_connection_string  # noqa: PLC0415 - an extra

    parts = parse_connection_string(text)
    if "sharedaccesssignature" in parts:
        return {"sas_token": parts["sharedaccesssignature"]}
    return {"account_name": parts["accountname"], "account_key": parts["accountkey"]}
