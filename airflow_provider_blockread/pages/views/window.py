"""The page: window."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from airflow_provider_blockread.pages.visit import Visit


def show(visit: Visit) -> Response:
    """Return the page."""
    return visit.page("window.html", {})


def live(visit: Visit) -> Response:
    """Return how far the window is, as JSON."""
    return JSONResponse({"window": visit.request.path_params["window"]})
