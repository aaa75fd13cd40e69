"""Chromium over the pages of a server, and what axe finds on them."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from playwright.sync_api import Browser, Page, sync_playwright
from starlette.types import ASGIApp

from tests.servers.processes import ROOT, install

_AXE = ROOT / ".servers" / "node_modules" / "axe-core" / "axe.min.js"
_OPTIONS = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    "resultTypes": ["violations"],  # to describe each element that passes takes longer than to look at all
    "selectors": False,
}
_READY_WITHIN_S = 30

LOOKS = {
    "wide": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "narrow": {"viewport": {"width": 400, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
}


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """Give the address of a server on loopback that runs an application in this process."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until = time.monotonic() + _READY_WITHIN_S
        while not server.started and time.monotonic() < until:
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Give a browser without a window."""
    install()
    with sync_playwright() as driver:
        path = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield browser
        browser.close()


def findings(page: Page) -> list[str]:
    """Return what keeps people out of the page, as axe sees it, a line each."""
    page.evaluate(_AXE.read_text(encoding="utf-8"))
    found: dict[str, Any] = page.evaluate("options => axe.run(options)", _OPTIONS)
    return [f"{one['id']}: {node['html'][:120]}" for one in found["violations"] for node in one["nodes"]]
