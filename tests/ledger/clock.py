"""A clock of a test's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta


@dataclass
class Clock:
    """A clock that continues only when a test advances it."""

    time: datetime = field(default=datetime(2026, 1, 1, tzinfo=UTC))

    def __call__(self) -> datetime:
        """Return the present."""
        return self.time

    def pass_seconds(self, seconds: float) -> None:
        """Let time pass."""
        self.time += timedelta(seconds=seconds)
