"""What the site's ledgers contain about a DAG, run or task of Airflow, as far as the visitor may see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from airflow_provider_blockread.errors import BlockReadError
from airflow_provider_blockread.ledger.overview.refs import feed_row
from airflow_provider_blockread.ledger.overview.runs import last_published, windows_of_run
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.pages.display.words import whole
from airflow_provider_blockread.pages.site import FeedRef, TaskId, task_of
from airflow_provider_blockread.pages.visit import Visit
from airflow_provider_blockread.steps.model import Environment

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWindow:
    """A window of a run."""

    ledger: str  # the connection's name
    env: Environment
    feed: FeedRef
    row: WindowRow
    reads_records: bool  # whether the visitor may see bytes of records, and thus errors, which quote them
    since: datetime | None  # when a window of the feed was last published

    @property
    def planner(self) -> str:
        """The Airflow task that planned it; empty if there is none."""
        task = task_of(self.row.window.owner)
        return task.task if task is not None else ""


def airflow_ids(visit: Visit) -> TaskId:
    """Return the ids that the query names; where a task is not mapped, Airflow leaves the placeholder of its index."""
    index = whole(visit.asked("map_index"))
    return TaskId(
        dag=visit.asked("dag_id"),
        run=visit.asked("run_id"),
        task=visit.asked("task_id"),
        map_index=-1 if index is None else index,
    )


def run_windows(visit: Visit, ids: TaskId) -> tuple[list[RunWindow], list[str]]:
    """Return the run's windows that the visitor may see, and why some ledgers cannot be read."""

    def collect(ledger: str, env: Environment) -> Iterator[RunWindow]:
        for row in windows_of_run(env.ledger, ids.of_run):
            found = feed_row(env.ledger, row.feed_id)
            if found is None:
                continue
            feed = FeedRef(ledger=ledger, id=found.id, name=found.name, dags=found.dags)
            if visit.visitor.may_see(feed):
                reads = visit.visitor.may_read_records(feed)
                since = last_published(env.ledger, feed.id) if row.window.state == "empty" else None
                yield RunWindow(ledger=ledger, env=env, feed=feed, row=row, reads_records=reads, since=since)

    return in_ledgers(visit, collect)


def may_plan(visit: Visit, ids: TaskId) -> bool:
    """Return whether the run may still plan a window, to a visitor who may see what its DAG reads."""
    reads = FeedRef(ledger="", id=0, name="", dags=frozenset({ids.dag}))
    return visit.visitor.may_see(reads) and visit.site.schedules.goes_on(ids.dag, ids.run)


def in_ledgers(visit: Visit, collect: Callable[[str, Environment], Iterator[T]]) -> tuple[list[T], list[str]]:
    """Return what is found in all ledgers of the site, and why some ledgers cannot be read."""
    found: list[T] = []
    problems = []
    for name in visit.ledgers.names:
        try:
            found += collect(name, visit.ledgers.open(name))
        except BlockReadError as error:
            problems.append(f"{name}: {error}")
    return found, problems
