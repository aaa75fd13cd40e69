"""A queue of Amazon SQS, to which S3 writes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.hooks.queues.protocol import Message
from airflow_provider_blockread.hooks.store_options import aws_keys
from airflow_provider_blockread.hooks.stores import require_type

if TYPE_CHECKING:
    from airflow.sdk import Connection

_WAIT_S = 10  # per request: long enough for few requests, short enough to stop soon
_SILENCE_S = 20
_KEYS_S = 600.0  # after which keys are renewed: a role is assumed for at least a quarter of an hour


class SqsQueue:
    """A queue of Amazon SQS.

    Args:
        url: the queue's URL, such as `https://sqs.eu-central-1.amazonaws.com/123456789012/landing`.
        connection: of type `aws`, with the fields that open S3, and those of the queue in `service_config["sqs"]`;
            default: the ambient identity.

    Raises:
        OptionsError: when botocore is not installed, or the connection does not open such a queue.
        TransientError: when its role cannot be assumed now.
    """

    def __init__(self, url: str, connection: Connection | None) -> None:
        if connection is not None:
            require_type(connection, ("aws", "s3"), "queue: ", "cannot open a queue of Amazon")
        self._url, self._connection = url, connection
        self._client, self._opened = self._open(), time.monotonic()

    def _open(self) -> Any:  # noqa: ANN401 - botocore has no types
        try:
            from botocore.config import Config  # noqa: PLC0415 - an extra
            from botocore.exceptions import BotoCoreError  # noqa: PLC0415
            from botocore.session import Session  # noqa: PLC0415
        except ImportError as error:
            msg = f"queue: {self._url} needs botocore; install it with `pip install 'airflow-provider-blockread[s3]'`"
            raise OptionsError(msg) from error
        extra = self._connection.extra_dejson if self._connection else {}
        keys, profile = aws_keys(self._connection) if self._connection else ((None, None, None), None)
        named = self._url.split("sqs.", 1)[-1].split(".", 1)[0] if "//sqs." in self._url else None
        own = (extra.get("service_config") or {}).get("sqs") or {}
        host = self._connection.host if self._connection else None
        patience = {"read_timeout": _WAIT_S + _SILENCE_S, "connect_timeout": _SILENCE_S}
        try:
            return Session(profile=profile).create_client(
                "sqs",
                region_name=extra.get("region_name") or named,
                endpoint_url=own.get("endpoint_url") or extra.get("endpoint_url") or host or None,
                verify=extra.get("verify"),
                aws_access_key_id=keys[0],
                aws_secret_access_key=keys[1],
                aws_session_token=keys[2],
                config=Config(**{**(extra.get("config_kwargs") or {}), **patience}),
            )
        except (BotoCoreError, TypeError, ValueError) as error:
            msg = f"queue: {self._url} cannot be opened ({error}); correct the connection, which may name a region_name"
            raise OptionsError(msg) from error

    def receive(self) -> list[Message]:
        """Return up to ten messages."""
        found = self._call("receive_message", {"MaxNumberOfMessages": 10, "WaitTimeSeconds": _WAIT_S})
        return [Message(body=one["Body"], receipt=one["ReceiptHandle"]) for one in found.get("Messages", ())]

    def done(self, messages: Sequence[Message]) -> None:
        """Delete messages from the queue."""
        entries = [{"Id": str(number), "ReceiptHandle": one.receipt} for number, one in enumerate(messages)]
        if entries:
            self._call("delete_message_batch", {"Entries": entries})

    def _call(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        if time.monotonic() - self._opened > _KEYS_S:  # a role's keys expire
            self._client, self._opened = self._open(), time.monotonic()
        try:
            return cast("dict[str, Any]", getattr(self._client, name)(QueueUrl=self._url, **options))
        except (BotoCoreError, ClientError) as error:
            msg = f"the queue {self._url} failed ({error}); check that it exists and that the connection has access"
            raise TransientError(msg) from error
