"""When a feed's next window is expected, and by which schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_blockread.ledger.overview.feeds import FeedSums


@dataclass(frozen=True, slots=True, kw_only=True)
class NextWindow:
    """When the next window is expected."""

    at: datetime | None  # None while all its DAGs are paused
    why: str
    dag: str = ""  # whose schedule determines it; empty if none does


def next_window(feed: FeedSums, runs: Mapping[str, datetime | None]) -> NextWindow | None:
    """Return when a feed's next window is expected, or None if this is not known.

    Args:
        feed: the feed.
        runs: by DAG of the feed that Airflow itself starts, when the next run begins; None for a paused DAG.
    """
    known = {dag: at for dag in sorted(feed.dags) if (at := runs.get(dag)) is not None}
    if known:
        first = min(known, key=known.__getitem__)
        return NextWindow(at=known[first], why=f"by the schedule of DAG {first}", dag=first)
    if feed.dags and feed.dags <= runs.keys():
        names = ", ".join(sorted(feed.dags))
        return NextWindow(at=None, why=f"DAG {names} is paused" if len(feed.dags) == 1 else f"DAGs {names} are paused")
    if feed.pace is not None and feed.last_planned_at is not None:
        return NextWindow(at=feed.last_planned_at + feed.pace, why="estimated from earlier windows")
    return None
