"""Shows the reports of steps in Airflow: as lines and folded groups in a task's log, and as metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk.observability import stats

from airflow_provider_blockread.observer import LOG_S, LogObserver

_BEGIN, _END = "::group::", "::endgroup::"


class AirflowObserver(LogObserver):
    """Passes lines to a task's log, where details are folded, and numbers to Airflow's metrics.

    :param log: the task's log.
    :param tags: tags of all metrics.
    """

    def __init__(self, log: Any, tags: Mapping[str, str]) -> None:  # noqa: ANN401 - structlog's or logging's
        super().__init__(lambda line: log.info(plain(line)), lambda line: log.warning(plain(line)), every_s=LOG_S)
        self._task_log, self._tags = log, dict(tags)

    def details(self, title: str, lines: Iterable[str]) -> None:
        """Log the lines folded below a title; without lines, log nothing."""
        found = list(lines)
        if not found:
            return
        self._task_log.info(f"{_BEGIN}{plain(title)}")
        for line in found:
            self.log(line)
        self._task_log.info(_END)

    def count(self, name: str, number: float) -> None:
        """Add to the counter `blockread.<name>`."""
        stats.incr(f"blockread.{name}", round(number), tags=self._tags)

    def gauge(self, name: str, number: float) -> None:
        """Set the gauge `blockread.<name>`."""
        stats.gauge(f"blockread.{name}", number, tags=self._tags)

    def took(self, name: str, seconds: float) -> None:
        """Record a duration in the timer `blockread.<name>`."""
        stats.timing(f"blockread.{name}", timedelta(seconds=seconds), tags=self._tags)


def plain(line: str) -> str:
    """Return a line that neither opens nor closes a fold, since Airflow looks for its marks anywhere in a line."""
    return line.replace(_BEGIN, r":\x3agroup::").replace(_END, r":\x3aendgroup::")
