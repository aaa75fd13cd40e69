"""The pages on loopback, without Airflow: the only visitor is the person who started the server.

Other users of the host reach loopback, too. So the address that the server prints has a key, which a cookie then keeps.
"""

from __future__ import annotations

from hmac import compare_digest

from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from airflow_provider_blockread.ledger.owners import user
from airflow_provider_blockread.pages.app import make_app
from airflow_provider_blockread.pages.site import FeedRef, Site, Visitor
from airflow_provider_blockread.steps.model import Environment

LEDGER = "ledger"
"""The name of the only ledger in addresses."""

_HOSTS = ["127.0.0.1", "localhost", "[::1]"]


class Everything(Visitor):
    """A visitor who may do everything."""

    @property
    def name(self) -> str:
        """The name of the person who runs this process."""
        return user()

    def may_see(self, feed: FeedRef) -> bool:  # noqa: ARG002
        """Return True."""
        return True

    may_read_records = may_change = may_see


class _Key:
    """Answers those who have the key: their first request has it in its query, the others in a cookie."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app, self._key = app, key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self._app
        if scope["type"] == "http":
            request = Request(scope)
            cookie = f"blockread-{request.url.port}"  # browsers send those of all ports
            if self._is(request.query_params.get("key", "")):
                answer = RedirectResponse("/")
                answer.set_cookie(cookie, self._key, httponly=True, samesite="strict")
            elif not self._is(request.cookies.get(cookie, "")):
                answer = PlainTextResponse("Open the whole address that `blockread ui` printed, with its key.", 403)
        await answer(scope, receive, send)

    def _is(self, text: str) -> bool:
        return compare_digest(text.encode(), self._key.encode())


def loopback_app(env: Environment, key: str) -> Starlette:
    """Return the application that shows one ledger to the person who started it, and so knows the key.

    It answers only requests for a loopback host, so that foreign host names that resolve to 127.0.0.1 are refused.
    """

    async def visitor(request: Request) -> Visitor:  # noqa: ARG001
        return Everything()

    app = make_app(Site(ledgers={LEDGER: lambda: env}, visitor=visitor))
    app.add_middleware(_Key, key=key)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS)
    return app
