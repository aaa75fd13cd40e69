"""The pages on loopback, without Airflow: the only visitor is the person who started the server."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request

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


def loopback_app(env: Environment) -> Starlette:
    """Return the application that shows one ledger to the person who started it.

    It answers only requests for a loopback host, so that foreign host names that resolve to 127.0.0.1 are refused.
    """

    async def visitor(request: Request) -> Visitor:  # noqa: ARG001
        return Everything()

    app = make_app(Site(ledgers={LEDGER: lambda: env}, visitor=visitor))
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS)
    return app
