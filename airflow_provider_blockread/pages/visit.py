"""One request to a page: who asks for what, and how the response is made."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from threading import Lock
from typing import Any

from jinja2 import Environment as Templates
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.overview.refs import all_feeds
from airflow_provider_blockread.pages.addresses import Addresses
from airflow_provider_blockread.pages.site import FeedRef, Site, Visitor, task_of
from airflow_provider_blockread.steps.model import Environment

KEPT_S = 30.0
"""Time after which a ledger's connection is looked up again."""


class Ledgers:
    """The site's ledgers. Each stays open from when a page first needs it until its connection names another one."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._open: dict[str, tuple[Environment, float]] = {}  # until when the connection need not be looked up
        self._lock = Lock()
        self.names = list(site.ledgers)  # of connections, in the site's order

    def open(self, name: str) -> Environment:
        """Return the ledger and stores of a connection.

        Raises:
            HTTPException: 404 when the site does not show this ledger.
            BlockReadError: when the ledger cannot be used now.
        """
        if name not in self._site.ledgers:
            raise HTTPException(404, f"No ledger of this name is shown here: {name}")
        held, until = self._open.get(name, (None, 0.0))
        if held is not None and time.monotonic() < until:
            return held
        found = replace(self._site.ledgers[name](), runs_code=False)
        with self._lock:
            kept, left = found, self._open.get(name, (found, 0.0))[0]
            if kept.ledger.has_address_of(left.ledger):
                kept, left = left, kept
            self._open[name] = (kept, time.monotonic() + KEPT_S)
        if left.ledger is not kept.ledger:
            left.ledger.close()  # a request that still uses it opens new connections
        return kept


class LedgersOfRequest:
    """The site's ledgers for one request, which asks the same ledger about rights and for what it shows."""

    def __init__(self, ledgers: Ledgers) -> None:
        self.names = ledgers.names
        self.open = cache(ledgers.open)


class SeenFeeds(dict[int, FeedRef]):
    """The feeds of a ledger that a visitor may see, by number, and how many others there are."""

    hidden = 0


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A request whose visitor may see the page.

    `feed` is the feed of the page, found from the path; None for a page of several feeds.
    """

    request: Request
    site: Site
    ledgers: LedgersOfRequest
    templates: Templates
    visitor: Visitor
    feed: FeedRef | None = None
    form: FormData = field(default_factory=FormData)  # of a POST

    @property
    def ledger(self) -> str:
        """The connection's name of the ledger that the path names."""
        return str(self.request.path_params["ledger"])

    @property
    def env(self) -> Environment:
        """The ledger that the path names, with its stores."""
        return self.ledgers.open(self.ledger)

    @property
    def to(self) -> Addresses:
        """The addresses of other pages."""
        return Addresses(self.request.scope.get("root_path", ""))

    def asked(self, name: str) -> str:
        """Return a parameter of the query, or an empty string if it is not given."""
        return self.request.query_params.get(name, "").strip()

    def seen(self, ledger: str) -> SeenFeeds:
        """Return the feeds of a ledger that the visitor may see, by number.

        Raises:
            BlockReadError: when the ledger cannot be used now.
        """
        known = all_feeds(self.ledgers.open(ledger).ledger)
        refs = [FeedRef(ledger=ledger, id=row.id, name=row.name, dags=row.dags) for row in known]
        seen = SeenFeeds({ref.id: ref for ref in self.visitor.seen_among(refs)})
        seen.hidden = len(known) - len(seen)
        return seen

    @property
    def may_read_records(self) -> bool:
        """Whether the visitor may see bytes of the records of the page's feed."""
        return self.feed is not None and self.visitor.may_read_records(self.feed)

    def quoted(self, error: str | None, feed: FeedRef | None = None) -> str | None:
        """Return an error's text, or a notice if the visitor may not read the feed's records, which it may quote."""
        about = feed or self.feed
        if error is None or (about is not None and self.visitor.may_read_records(about)):
            return error
        return "The error may quote records; it is shown to those who may read the logs of the feed's DAGs."

    def worker(self, owner: str) -> tuple[str, str | None]:
        """Return the name of an owner that is a task, and its page's address in Airflow, or else the owner and None."""
        task = task_of(owner)
        if task is None:
            return owner, None
        name = task.task if task.map_index < 0 else f"{task.task}[{task.map_index}]"
        return name, self.site.links.task(task)

    def spark_link(self, group: Group) -> str | None:
        """Return the address of a group's Spark application: its own pages while it runs, then the history server's."""
        if group.state == "running" and group.spark_ui:
            return group.spark_ui
        return self.site.links.application(group.application) if group.application else None

    def fragment(self, template: str, values: Mapping[str, Any]) -> str:
        """Return a part of a page, as HTML."""
        return self.templates.get_template(template).render({"to": self.to, "visit": self, **values})

    def live(self, template: str, values: Mapping[str, Any]) -> JSONResponse:
        """Return a part of a page that is shown already, and whether it goes on to change."""
        html = self.fragment(template, values)
        return JSONResponse({"html": html, "moving": values["moving"], "state": values["state"]})

    def page(self, template: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
        """Return the page that a template makes from these values."""
        return render(self.templates, self.request, template, {"visit": self, **values}, status)


def render(
    templates: Templates, request: Request, template: str, values: Mapping[str, Any], status: int = 200
) -> HTMLResponse:
    """Return a page; `to` and `query` are available in every template."""
    to = Addresses(request.scope.get("root_path", ""))
    query = request.query_params.get("q", "")
    return HTMLResponse(templates.get_template(template).render({"to": to, "query": query, **values}), status)
