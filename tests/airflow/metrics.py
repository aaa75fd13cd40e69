"""What Airflow's metrics get of this package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
from airflow.sdk._shared.observability.metrics import stats
from airflow.sdk._shared.observability.metrics.base_stats_logger import NoStatsLogger


class Metrics(NoStatsLogger):
    """A backend of Airflow's metrics that keeps those of this package."""

    def __init__(self) -> None:
        """Begin with none."""
        self.found: dict[str, float] = {}
        self.tags: list[dict[str, str]] = []

    def _keep(self, stat: str, number: float, tags: dict[str, str] | None) -> None:
        if stat.startswith("blockread."):
            self.found[stat.removeprefix("blockread.")] = number
            self.tags.append(tags or {})

    def incr(self, stat: str, count: int = 1, *, tags: dict[str, str] | None = None, **_: Any) -> None:
        """Add to a counter."""
        self._keep(stat, self.found.get(stat.removeprefix("blockread."), 0) + count, tags)

    def gauge(self, stat: str, value: float, *, tags: dict[str, str] | None = None, **_: Any) -> None:
        """Set a gauge."""
        self._keep(stat, value, tags)

    def timing(self, stat: str, dt: Any, *, tags: dict[str, str] | None = None, **_: Any) -> None:
        """Record a time, in seconds."""
        self._keep(stat, dt.total_seconds() if isinstance(dt, timedelta) else dt, tags)


@contextmanager
def kept_metrics() -> Iterator[Metrics]:
    """Keep what Airflow's metrics get while the body runs."""
    found = Metrics()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stats, "_backend", found)
        yield found
