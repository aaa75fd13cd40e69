"""What the server of the pages provides: ledgers, visitors and links.

Airflow's plugin makes a `Site` from connections, Airflow's users and Airflow's pages; `blockread ui` makes one from a
single ledger and a visitor who may do everything.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from starlette.requests import Request

from airflow_provider_blockread.steps.model import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRef:
    """A feed for authorization; `dags` are the DAGs whose runs read it, empty for a feed of the command line."""

    ledger: str  # the connection's name
    id: int
    name: str
    dags: frozenset[str]


class Visitor(Protocol):
    """The person who looks at a page, and what that person may do."""

    @property
    def name(self) -> str:
        """The name with which actions are recorded."""

    def seen_among(self, feeds: Collection[FeedRef]) -> list[FeedRef]:
        """Return those of these feeds that may be shown."""
        return [feed for feed in feeds if self.may_see(feed)]

    def may_see(self, feed: FeedRef) -> bool:
        """Return whether the feed, its windows and its files may be shown."""

    def may_read_records(self, feed: FeedRef) -> bool:
        """Return whether bytes of the feed's records may be shown."""

    def may_change(self, feed: FeedRef) -> bool:
        """Return whether actions on the feed's windows are allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskId:
    """A task instance of Airflow; `map_index` is -1 for one that is not mapped."""

    dag: str
    run: str
    task: str
    map_index: int = -1

    @property
    def of_run(self) -> str:
        """The name of its run in the ledger."""
        return f"{self.dag}/{self.run}"

    @property
    def owner(self) -> str:
        """Its own name in the ledger."""
        return f"{self.of_run}/{self.task}/{self.map_index}"


_TASK = re.compile(r"([^/]+)/(.+)/([^/]+)/(-?\d+)")


def task_of(owner: str) -> TaskId | None:
    """Return the task instance that an owner in the ledger is, or None for a process of the command line."""
    found = _TASK.fullmatch(owner)
    return None if found is None else TaskId(dag=found[1], run=found[2], task=found[3], map_index=int(found[4]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A window to be read again by the tasks of a run: `task`, which planned it, and all tasks after it."""

    window: str
    action: str
    task: TaskId


class Links:
    """Addresses of Airflow's own pages, and of Spark's; without Airflow there are none."""

    def dag(self, dag: str) -> str | None:  # noqa: ARG002
        """Return the address of a DAG's page."""
        return None

    def run(self, dag: str, run: str) -> str | None:  # noqa: ARG002
        """Return the address of a run's page."""
        return None

    def task(self, task: TaskId) -> str | None:  # noqa: ARG002
        """Return the address of a task instance's page."""
        return None

    def application(self, application: str) -> str | None:  # noqa: ARG002
        """Return the address of a Spark application that has ended, by its id."""
        return None

    def login(self, page: str) -> str | None:  # noqa: ARG002
        """Return the address at which a visitor signs in and then comes to a page, given by its path and query."""
        return None


class Schedules:
    """When Airflow itself starts runs, and which of them go on; empty without Airflow."""

    def next_runs(self, dags: Collection[str]) -> Mapping[str, datetime | None]:  # noqa: ARG002
        """Return, for each DAG with a schedule of times, when its next run begins; None for a paused DAG."""
        return {}

    def goes_on(self, dag: str, run: str) -> bool:  # noqa: ARG002
        """Return whether a run is there and has not ended."""
        return False

    def has_run(self, dag: str, run: str) -> bool:  # noqa: ARG002
        """Return whether a run is there, as far as is known."""
        return True


class Tasks:
    """Tasks that can read windows again, since a web server must not run Spark; without Airflow there are none."""

    def refusal(self, again: Again) -> str:  # noqa: ARG002
        """Return why these tasks cannot do it now, or an empty string if they can."""
        return "These pages run without Airflow"

    def clear(self, again: Again, who: str, begin: Callable[[int], object]) -> None:
        """Let them do it after calling `begin` with the clear number that the run will have.

        Raises:
            HTTPException: 409 when they can no longer do it.
        """


@dataclass(frozen=True, kw_only=True)
class Site:
    """What the pages show, to whom, and where their links out lead.

    Args:
        ledgers: functions that open each ledger with its stores, by connection name. They are called when a page first
            needs that ledger, from any thread; an error of this package is shown in place of the ledger's pages, and
            the next request tries again.
        visitor: returns who sends a request; raises Starlette's `HTTPException` with 401 or 403 to refuse.
        links: the addresses of Airflow's pages, and of Spark's.
        schedules: when Airflow starts runs.
        tasks: the tasks that can read windows again.
        secret: seals the tokens of actions; all processes that serve this site must share it.
        origins: addresses at which browsers reach this server (scheme, host and port), besides that of the request.
    """

    ledgers: Mapping[str, Callable[[], Environment]]
    visitor: Callable[[Request], Awaitable[Visitor]]
    links: Links = field(default_factory=Links)
    schedules: Schedules = field(default_factory=Schedules)
    tasks: Tasks = field(default_factory=Tasks)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    origins: frozenset[str] = frozenset()
