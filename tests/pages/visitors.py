"""Visitors for tests, whose rights a test chooses."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from starlette.exceptions import HTTPException
from starlette.requests import Request

from airflow_provider_blockread.pages.site import FeedRef, Site
from airflow_provider_blockread.steps.model import Environment


@dataclass
class Person:
    """A visitor: who is known or not, and may see, read or change feeds by name; None stands for all."""

    known: bool = True
    sees: set[str] | None = None
    reads: set[str] | None = None
    changes: set[str] | None = None
    name: str = "ann"
    asked: list[FeedRef] = field(default_factory=list)

    async def arrive(self, request: Request) -> Person:  # noqa: ARG002
        """Return this person, or refuse one who is not known."""
        if not self.known:
            raise HTTPException(401)
        return self

    def seen_among(self, feeds: Collection[FeedRef]) -> list[FeedRef]:
        """Return the feeds that are among those."""
        return [feed for feed in feeds if self.may_see(feed)]

    def may_see(self, feed: FeedRef) -> bool:
        """Return whether the feed is among those."""
        self.asked.append(feed)
        return self.sees is None or feed.name in self.sees

    def may_read_records(self, feed: FeedRef) -> bool:
        """Return whether the feed is among those."""
        return self.reads is None or feed.name in self.reads

    def may_change(self, feed: FeedRef) -> bool:
        """Return whether the feed is among those."""
        return self.changes is None or feed.name in self.changes


def site_of(env: Environment, person: Person) -> Site:
    """Return a site of one ledger, `main`, for one visitor."""
    return Site(ledgers={"main": lambda: env}, visitor=person.arrive)
