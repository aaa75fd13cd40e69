"""The page: health."""

from __future__ import annotations

from starlette.responses import Response

from airflow_provider_blockread.pages.visit import Visit


def show(visit: Visit) -> Response:
    """Return the page."""
    return visit.page("health.html", {"address": visit.env.ledger.name})
