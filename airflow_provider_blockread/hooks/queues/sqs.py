"""A queue of Amazon SQS, to which S3 writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from airflow_provider_blockread.errors import OptionsError, TransientError
from airflow_provider_blockread.hooks.queues.protocol import Message

if TYPE_CHECKING:
    from airflow.sdk import Connection

_WAIT_S = 10  # of one request: long enough for few requests, short enough to stop soon
_SILENCE_S = 20


class SqsQueue:
    """A queue of Amazon SQS.

    Args:
        url: its URL, as `https://sqs.eu-central-1.amazonaws.com/123456789012/landing`.
        connection: of type `aws`; ambient identity without one.

    Raises:
        OptionsError: when botocore is not installed.
    """

    def __init__(self, url: str, connection: Connection | None) -> None:
        try:
            from botocore.config import Config  # noqa: PLC0415 - an extra
            from botocore.session import Session  # noqa: PLC0415
        except ImportError as error:
            msg = f"hints: {url} needs botocore; install it with `pip install 'airflow-provider-blockread[s3]'`"
            raise OptionsError(msg) from error
        extra = connection.extra_dejson if connection else {}
        named = url.split("sqs.", 1)[-1].split(".", 1)[0] if "//sqs." in url else None
        self._url = url
        self._client = Session(profile=extra.get("profile_name")).create_client(
            "sqs",
            region_name=extra.get("region_name") or named,
            endpoint_url=extra.get("endpoint_url") or (connection.host if connection else None) or None,
            aws_access_key_id=connection.login if connection else None,
            aws_secret_access_key=connection.password if connection else None,
            aws_session_token=extra.get("aws_session_token"),
            config=Config(read_timeout=_WAIT_S + _SILENCE_S, connect_timeout=_SILENCE_S),
        )

    def receive(self) -> list[Message]:
        """Return up to ten messages."""
        found = self._call("receive_message", {"MaxNumberOfMessages": 10, "WaitTimeSeconds": _WAIT_S})
        return [Message(body=one["Body"], receipt=one["ReceiptHandle"]) for one in found.get("Messages", ())]

    def done(self, messages: Sequence[Message]) -> None:
        """Delete messages."""
        entries = [{"Id": str(number), "ReceiptHandle": one.receipt} for number, one in enumerate(messages)]
        if entries:
            self._call("delete_message_batch", {"Entries": entries})

    def _call(self, name: str, options: dict[str, Any]) -> dict[str, Any]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        try:
            return cast("dict[str, Any]", getattr(self._client, name)(QueueUrl=self._url, **options))
        except (BotoCoreError, ClientError) as error:
            msg = f"the queue {self._url} failed ({error}); check that it exists and that the connection has access"
            raise TransientError(msg) from error
