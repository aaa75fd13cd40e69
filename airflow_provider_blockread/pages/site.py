"""What the server of the pages gives them: ledgers, visitors and links.

Airflow's plugin makes a `Site` of connections, Airflow's users and Airflow's pages; `blockread ui` makes one of one
ledger and a visitor who may do everything.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from starlette.requests import Request

from airflow_provider_blockread.steps.model import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRef:
    """A feed as authorization knows it; `dags` are those whose runs read it, none for one of the command line."""

    ledger: str  # the connection's name
    id: int
    name: str
    dags: frozenset[str]


class Visitor(Protocol):
    """Who looks at a page, and what that person may do."""

    @property
    def name(self) -> str:
        """The name that actions are recorded with."""

    def may_see(self, feed: FeedRef) -> bool:
        """Return whether the feed, its windows and its files may be shown."""

    def may_read_records(self, feed: FeedRef) -> bool:
        """Return whether bytes of the feed's records may be shown."""

    def may_change(self, feed: FeedRef) -> bool:
        """Return whether actions on the feed's windows are allowed."""


class Links(Protocol):
    """Addresses of Airflow's own pages, and of Spark's; None where there are none."""

    def dag(self, dag: str) -> str | None:
        """Return the address of a DAG's page."""

    def run(self, dag: str, run: str) -> str | None:
        """Return the address of a run's page."""

    def task(self, dag: str, run: str, task: str, map_index: int) -> str | None:
        """Return the address of a task instance's page; `map_index` is -1 for one that is not mapped."""

    def application(self, application: str) -> str | None:
        """Return the address of a Spark application that has ended, by its id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A window that is to be read again by the tasks of a run: its plan, and all that follow."""

    window: str
    action: str
    run: str  # dag_id/run_id
    task: str  # that planned it

    @property
    def dag(self) -> str:
        """The id of the run's DAG."""
        return self.run.partition("/")[0]

    @property
    def run_id(self) -> str:
        """The id of the run."""
        return self.run.partition("/")[2]


class Schedules(Protocol):
    """When Airflow starts runs by itself; nothing where there is no Airflow."""

    def next_runs(self, dags: Collection[str]) -> Mapping[str, datetime | None]:
        """Return when the next run of each DAG begins that has a schedule of times; None for a DAG that is paused."""


class NoSchedules:
    """Nothing starts by itself: the pages are served without Airflow."""

    def next_runs(self, dags: Collection[str]) -> Mapping[str, datetime | None]:  # noqa: ARG002
        """Return nothing."""
        return {}


class Tasks(Protocol):
    """Tasks that read windows again, where there are any: Spark is not for a web server to run."""

    def refusal(self, again: Again) -> str:
        """Return why these tasks cannot do it now; empty if they can."""

    def clear(self, again: Again, who: str, begin: Callable[[int], object]) -> None:
        """Let them do it, once `begin` has returned, which gets the clear number that the run will have.

        Raises:
            HTTPException: 409 when they cannot do it any more.
        """


class NoTasks:
    """There are none: the pages are served without Airflow."""

    def refusal(self, again: Again) -> str:  # noqa: ARG002
        """Return that there are none."""
        return "These pages run without Airflow"

    def clear(self, again: Again, who: str, begin: Callable[[int], object]) -> None:
        """Do nothing."""


class NoLinks:
    """Leads nowhere: the pages are served without Airflow."""

    def dag(self, dag: str) -> str | None:  # noqa: ARG002
        """Return None."""
        return None

    def run(self, dag: str, run: str) -> str | None:  # noqa: ARG002
        """Return None."""
        return None

    def task(self, dag: str, run: str, task: str, map_index: int) -> str | None:  # noqa: ARG002
        """Return None."""
        return None

    def application(self, application: str) -> str | None:  # noqa: ARG002
        """Return None."""
        return None


@dataclass(frozen=True, kw_only=True)
class Site:
    """What the pages show, to whom, and where their links out lead.

    Args:
        ledgers: what opens each ledger with its stores, by connection name. Called when a page first needs that ledger,
            from any thread; an error of this package is shown in place of the ledger's pages, and the next request
            tries again.
        visitor: finds out who asks; raises Starlette's `HTTPException` with 401 or 403 to refuse.
        links: the addresses of Airflow's pages, and of Spark's.
        schedules: when Airflow starts runs.
        tasks: what reads windows again.
        secret: seals the tokens of actions; all processes that serve this site have the same.
        origins: addresses by which browsers reach this server (scheme, host and port), beside that of the request.
    """

    ledgers: Mapping[str, Callable[[], Environment]]
    visitor: Callable[[Request], Awaitable[Visitor]]
    links: Links = field(default_factory=NoLinks)
    schedules: Schedules = field(default_factory=NoSchedules)
    tasks: Tasks = field(default_factory=NoTasks)
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    origins: frozenset[str] = frozenset()
