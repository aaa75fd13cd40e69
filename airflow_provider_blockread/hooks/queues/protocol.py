"""The protocol of queues of storage events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message in a queue."""

    body: str
    receipt: str  # identifies the message in `done`


class HintQueue(Protocol):
    """A queue to which stores write. Its methods are called in a thread, and may block for a few seconds."""

    def receive(self) -> list[Message]:
        """Return some messages, after a short wait if needed; unless `done` is called, they are delivered again later.

        Raises:
            TransientError: when the queue fails.
        """

    def done(self, messages: Sequence[Message]) -> None:
        """Remove messages from the queue.

        Raises:
            TransientError: when the queue fails; they are then delivered again.
        """
