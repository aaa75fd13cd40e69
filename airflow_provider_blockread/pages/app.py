"""The application: routes with their required rights, style sheets, and error pages."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from jinja2 import Environment as Templates
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from airflow_provider_blockread.errors import BlockReadError, OptionsError
from airflow_provider_blockread.ledger.overview.refs import feed_of_file, feed_of_window, feed_row
from airflow_provider_blockread.pages.actions.guard import require_own_origin
from airflow_provider_blockread.pages.actions.kinds import ACTIONS
from airflow_provider_blockread.pages.addresses import STATIC, static_version
from airflow_provider_blockread.pages.display.templates import make_templates
from airflow_provider_blockread.pages.display.words import whole
from airflow_provider_blockread.pages.routes import ROUTES, Needs, PageRoute
from airflow_provider_blockread.pages.site import FeedRef, Links, Site, Visitor
from airflow_provider_blockread.pages.visit import Ledgers, LedgersOfRequest, Visit, render

#: Nothing is loaded from other origins, and only pages of the same origin may frame these.
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; form-action 'self'; frame-ancestors 'self'; base-uri 'none'",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
}


def make_app(site: Site) -> Starlette:
    """Return the application that shows a site; mount it anywhere."""
    ledgers, templates = Ledgers(site), make_templates()
    answers = _Answers(templates, site.links)
    templates.globals["window_actions"] = tuple(ACTIONS.values())
    served = [_route(page, site, ledgers, templates) for page in ROUTES]
    app = Starlette(
        routes=[*served, Mount("/static", StaticFiles(directory=STATIC))],
        exception_handlers={HTTPException: answers.refused, BlockReadError: answers.failed, Exception: answers.broken},
    )
    app.add_middleware(_Headers)
    return app


def _route(page: PageRoute, site: Site, ledgers: Ledgers, templates: Templates) -> Route:
    async def answer(request: Request) -> Response:
        visitor = await site.visitor(request)
        if page.method != "GET":
            require_own_origin(request, site.origins)
        form = await request.form() if request.method == "POST" else FormData()
        _require_text(request, form)

        def work() -> Response:
            mine = LedgersOfRequest(ledgers)
            feed = None if page.needs is Needs.SIGNED_IN else _authorized(page, request, mine, visitor)
            visit = Visit(
                request=request, site=site, ledgers=mine, templates=templates, visitor=visitor, feed=feed, form=form
            )
            return page.view(visit)

        return await run_in_threadpool(work)

    return Route(page.path, answer, methods=[page.method])


def _require_text(request: Request, form: FormData) -> None:
    """Refuse the character NUL, which no name in a ledger holds and PostgreSQL does not take.

    Raises:
        HTTPException: 404 when the address or the form has one.
    """
    if any("\0" in str(text) for text in (request.scope["path"], *request.query_params.values(), *form.values())):
        raise HTTPException(404, "This asks for a name with the character NUL, which no name in a ledger has.")


def _authorized(page: PageRoute, request: Request, ledgers: LedgersOfRequest, visitor: Visitor) -> FeedRef:
    """Return the feed that the path names.

    Raises:
        HTTPException: 404 when it names no feed, 403 when the visitor lacks a right that the page needs.
    """
    named = request.path_params
    ledger = ledgers.open(named["ledger"]).ledger
    number = whole(named.get("feed", named.get("file", "")))
    if "window" in named:
        found = feed_of_window(ledger, named["window"])
    elif number is None:
        found = None
    else:
        found = feed_row(ledger, number) if "feed" in named else feed_of_file(ledger, number)
    if found is None:
        raise HTTPException(404, "The ledger holds nothing under this address. It may have been pruned.")
    feed = FeedRef(ledger=named["ledger"], id=found.id, name=found.name, dags=found.dags)
    may: dict[Needs, Callable[[FeedRef], bool]] = {
        Needs.SEE: visitor.may_see,
        Needs.READ_RECORDS: visitor.may_read_records,
        Needs.CHANGE: visitor.may_change,
    }
    for needs in (Needs.SEE, page.needs):
        if not may[needs](feed):
            raise HTTPException(403, _MISSING[needs] if feed.dags else f"{_NO_DAG}, {feed.ledger}.")
    return feed


_NO_DAG = "No DAG uses this feed: it is for those who may edit the connection of its ledger"
_MISSING = {
    Needs.SEE: "You may not see this feed: ask for read access to the runs of each DAG that uses it.",
    Needs.READ_RECORDS: "You may see this feed, but not its records: ask for read access to the task logs of each DAG"
    " that uses it.",
    Needs.CHANGE: "You may see this feed, but not change it: ask for the right to clear task instances of each DAG that"
    " uses it.",
}


_WORDS = {
    401: ("Please sign in", "This page shows files and records; it opens once you have signed in to Airflow."),
    403: ("Not allowed", "You may not do this."),
    404: ("Nothing here", "No page has this address."),
}


class _Answers:
    """Pages in place of those that cannot be shown."""

    def __init__(self, templates: Templates, links: Links) -> None:
        self._templates, self._links = templates, links

    async def refused(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)  # noqa: S101 - Starlette calls this only for these
        status = error.status_code
        title, text = _WORDS.get(status, (error.detail, ""))
        if status in {403, 404} and error.detail != HTTPStatus(status).phrase:
            text = error.detail
        query = f"?{request.url.query}" if request.url.query else ""
        login = self._links.login(request.url.path + query) if status == HTTPStatus.UNAUTHORIZED else None
        answer = self._page(request, title, text, status, login)
        answer.headers.update(error.headers or {})
        return answer

    async def failed(self, request: Request, error: Exception) -> Response:
        asked_wrong = isinstance(error, OptionsError)
        status, title = (404, "Nothing here") if asked_wrong else (503, "The ledger cannot be read")
        return self._page(request, title, str(error), status)

    async def broken(self, request: Request, error: Exception) -> Response:  # noqa: ARG002
        text = "This is a mistake in the pages. The server's log has the error; please report it."
        answer = self._page(request, "Something broke", text, 500)
        answer.headers.update(_HEADERS)  # which middleware adds to all other pages
        return answer

    def _page(self, request: Request, title: str, text: str, status: int, login: str | None = None) -> Response:
        return render(self._templates, request, "error.html", {"title": title, "text": text, "login": login}, status)


class _Headers:
    """Adds the headers that isolate a page; browsers keep style sheets and scripts until there are newer ones."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                if "etag" in headers:
                    newest = scope["query_string"] == static_version().encode()
                    headers["cache-control"] = "public, max-age=31536000, immutable" if newest else "no-cache"
            await send(message)

        await self._app(scope, receive, send_with if scope["type"] == "http" else send)
