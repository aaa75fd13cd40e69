"""What an engine does for a job: it runs tasks, and knows nothing of blocks, records or files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")

#: Works on an item. The number is that of the attempt: no other attempt of the application has it.
Task: TypeAlias = Callable[[Item, int], Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is."""

    done: int  # items
    of: int  # items
    failed: int = 0  # attempts


class Engine(Protocol):
    """Runs tasks, one run at a time. Tasks, items and answers are values that can be pickled."""

    @property
    def cores(self) -> int:
        """How many items are worked on at once."""
        ...

    @property
    def may_grow(self) -> bool:
        """Whether more cores may come, as on a cluster whose executors are still starting."""
        ...

    def run(
        self, task: Task[Item, Answer], items: Sequence[Item], *, title: str, report: Callable[[Progress], None]
    ) -> list[Answer]:
        """Run the task for each item and return the answers in the order of the items.

        An item may be worked on more than once, by retries or duplicates; only the answer of the attempt that was
        accepted is returned.

        Args:
            task: what to do with an item.
            items: what the tasks work on.
            title: what is done, for people who watch the engine.
            report: called now and then, from any thread.

        Raises:
            BlockReadError: what a task raised, as itself.
            SparkJobError: when the run failed for another reason, or was cancelled.
            ConnectionError: when the engine itself is gone.
        """
        ...

    def cancel(self) -> None:
        """Cancel the run, if there is one; from any thread."""
        ...
