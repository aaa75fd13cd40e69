"""What steps report, as Airflow shows it: lines and folds in a task's log, and metrics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from airflow.sdk.observability import stats

from airflow_provider_blockread.observer import LOG_S, LogObserver

_BEGIN, _END = "::group::", "::endgroup::"


class AirflowObserver(LogObserver):
    """Passes lines on to a task's log, in which details are folded, and numbers to Airflow's metrics.

    :param log: the task's log.
    :param tags: of all metrics.
    """

    def __init__(self, log: Any, tags: Mapping[str, str]) -> None:  # noqa: ANN401 - structlog's or logging's
        super().__init__(lambda line: log.info(plain(line)), lambda line: log.warning(plain(line)), every_s=LOG_S)
        self._task_log, self._tags = log, dict(tags)

    def details(self, title: str, lines: Iterable[str]) -> None:
        """Log the lines below a title, folded; nothing where there are none."""
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
        """Record in the timer `blockread.<name>`."""
        stats.timing(f"blockread.{name}", timedelta(seconds=seconds), tags=self._tags)


def plain(line: str) -> str:
    """Return a line that opens and closes no fold, whatever names are in it: Airflow looks for marks everywhere."""
    return line.replace(_BEGIN, r":\x3agroup::").replace(_END, r":\x3aendgroup::")
