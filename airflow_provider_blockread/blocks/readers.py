"""How many readers a window gets: from its bytes, from what one reader reads in a second, and within limits."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_RATE = 32_000_000
"""Bytes a second of one reader, for a feed of which no window was measured: less than most reach, so that its first
window has too many readers rather than too few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderGoal:
    """What the user asks for: readers between two limits, so many that a window takes no longer than a target."""

    target_s: float
    least: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderChoice:
    """The number of tasks that read a window at once, and what it follows from.

    `why`: the `backlog` needs as many; `least`, `most`: the number is at its lower or upper limit; `blocks`: there are
    no more blocks, of which each is read by one task.
    """

    readers: int
    bytes: int  # of the window
    rate: int  # bytes a second of one reader
    windows: int  # of the feed, of whose rates this is the median; 0 for `DEFAULT_RATE`
    goal: ReaderGoal
    why: str

    @property
    def seconds(self) -> float:
        """How long so many readers need at this rate."""
        return self.bytes / (self.readers * self.rate)


def choose_readers(size: int, blocks: int, *, rate: int, windows: int, goal: ReaderGoal) -> ReaderChoice:
    """Return the readers for a window of `size` bytes in so many blocks; the same arguments give the same number.

    More bytes never get fewer readers, and neither does a lower rate.
    """
    needed = -(-size // max(int(rate * goal.target_s), 1))
    readers, why = needed, "backlog"
    if readers < goal.least:
        readers, why = goal.least, "least"
    if goal.most is not None and readers > goal.most:
        readers, why = goal.most, "most"
    if readers > max(blocks, 1):
        readers, why = max(blocks, 1), "blocks"
    return ReaderChoice(readers=readers, bytes=size, rate=rate, windows=windows, goal=goal, why=why)


def share_of(readers: int, groups: int, group: int) -> int:
    """Return how many of a window's readers are those of one group: equal shares, which differ by one at most."""
    return max(readers // groups + (group < readers % groups), 1)
