"""State maps: the effect of a range of bytes on a format's state, for every possible entry state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class StateMap:
    """A function from the state at a range's start to the state at its end; maps of adjacent ranges compose.

    A state is `depth * len(targets) + mode`. The range sends mode `m` to `targets[m]` and changes the depth by
    `shifts[m]`. Formats without nesting leave `shifts` empty and their state is the mode alone.
    """

    targets: tuple[int, ...]
    shifts: tuple[int, ...] = ()

    @classmethod
    def identity(cls, modes: int = 1) -> Self:
        """Return the map of an empty range."""
        return cls(tuple(range(modes)))

    def __call__(self, state: int) -> int:
        """Return the state at the range's end when it is entered in `state`."""
        depth, mode = divmod(state, len(self.targets))
        return (depth + self._shift(mode)) * len(self.targets) + self.targets[mode]

    def then(self, after: StateMap) -> StateMap:
        """Return the map of this range followed by the range of `after`; composing is associative.

        Raises:
            ValueError: when the two maps have different numbers of modes.
        """
        if len(after.targets) != len(self.targets):
            msg = f"maps of {len(self.targets)} and {len(after.targets)} modes belong to different formats"
            raise ValueError(msg)
        targets = tuple(after.targets[mode] for mode in self.targets)
        if not self.shifts and not after.shifts:
            return StateMap(targets)
        modes = range(len(self.targets))
        return StateMap(targets, tuple(self._shift(m) + after._shift(self.targets[m]) for m in modes))

    def _shift(self, mode: int) -> int:
        return self.shifts[mode] if self.shifts else 0

    def to_json(self) -> list[list[int]]:
        """Return this map as two JSON arrays."""
        return [list(self.targets), list(self.shifts)]

    @classmethod
    def from_json(cls, data: Sequence[Sequence[int]]) -> Self:
        """Return the map that `to_json` wrote."""
        return cls(tuple(data[0]), tuple(data[1]))
