"""The page: file."""

from __future__ import annotations

from starlette.responses import Response

from airflow_provider_blockread.pages.visit import Visit


def show(visit: Visit) -> Response:
    """Return the page."""
    return visit.page("file.html", {})


def records(visit: Visit) -> Response:
    """Return the page with the bytes around an offset."""
    return visit.page("records.html", {})
