"""What a queue of storage events can do, whoever's it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message as it lies in a queue."""

    body: str
    receipt: str  # what tells the queue that it is done with


class HintQueue(Protocol):
    """A queue that stores write to. Its calls are made in a thread, and may block for some seconds."""

    def receive(self) -> list[Message]:
        """Return some messages, waiting a little for them; unless `done` is called, they come again later.

        Raises:
            TransientError: when the queue fails.
        """
        ...

    def done(self, messages: Sequence[Message]) -> None:
        """Take messages out of the queue.

        Raises:
            TransientError: when the queue fails; they come again then.
        """
        ...
