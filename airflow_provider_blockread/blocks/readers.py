"""How many readers a window gets, based on its bytes and on the rate of one reader, and within limits."""

from __future__ import annotations

from dataclasses import dataclass

DEFAULT_RATE = 32_000_000
"""Bytes per second of one reader, for a feed without a measured window: less than most readers reach, so that its first
window has too many readers rather than too few."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderGoal:
    """What the user requests: enough readers, within two limits, to read a window within a target time."""

    target_s: float
    least: int = 1
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderChoice:
    """The number of tasks that read a window at once, and what determines it.

    `why`: `backlog`: the bytes need this many; `least`, `most`: the number is at its lower or upper limit; `blocks`:
    there are no more blocks, each of which is read by one task.
    """

    readers: int
    bytes: int  # of the window
    rate: int  # bytes per second of one reader
    windows: int  # number of the feed's windows with this median rate; 0 for `DEFAULT_RATE`
    goal: ReaderGoal
    why: str

    @property
    def seconds(self) -> float:
        """How many seconds these readers need at this rate."""
        return self.bytes / (self.readers * self.rate)


def choose_readers(size: int, blocks: int, *, rate: int, windows: int, goal: ReaderGoal) -> ReaderChoice:
    """Return the number of readers for a window of `size` bytes in `blocks` blocks; it depends only on the arguments.

    More bytes, or a lower rate, never lead to fewer readers.
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
    """Return how many of a window's readers belong to one group: equal shares, which differ by at most one."""
    return max(readers // groups + (group < readers % groups), 1)
