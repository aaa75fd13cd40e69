"""Takes the pictures of the documentation: `python tools/screenshots.py`, or `make screenshots`.

Fills a ledger, starts Airflow's web server over it, and opens pages in Chromium, some inside of Airflow. The folder of
all this is shown as `/data`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from past import FEEDS, Past
from playwright.sync_api import Page, Route, sync_playwright
from up import LOOPBACK, end, settings, start, wait_until_healthy

PICTURES = Path(__file__).resolve().parent.parent / "docs" / "pictures"
_HOURS = 30
_SHOWN = "/data"
_PAGES = "/blockread/ledgers/blockread_default"
_DAGS = """
import datetime
from airflow.sdk import DAG
from airflow_provider_blockread.options import FileSource, ParquetSink
from airflow_provider_blockread.task_group import BlockReadTaskGroup
for name in {names!r}:
    with DAG(name, schedule="@hourly", start_date=datetime.datetime(2026, 1, 1), catchup=False) as globals()[name]:
        BlockReadTaskGroup(name, source=FileSource("/data/landing/" + name), sink=ParquetSink("/data/lake/" + name))
"""


def main() -> int:
    """Take all pictures, and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="blockread-pictures-") as name:
        folder = Path(name)
        failed = Past(folder).fill(_HOURS)
        print("Ledger: filled", flush=True)
        with _airflow(folder) as url, _browser(folder, url) as page:
            _take(page, url, failed)
    return 0


def _take(page: Page, url: str, failed: str) -> None:
    dag, _, run = failed.partition("/")
    _api(url, "POST", f"dags/{dag}/dagRuns", {"dag_run_id": run, "logical_date": None})
    _api(url, "PATCH", f"dags/{dag}/dagRuns/{run}", {"state": "failed"})
    page.goto(f"{url}/plugin/blockread")
    page.frame_locator("iframe").locator("main .feeds").wait_for()
    _save(page, "feeds")
    page.goto(f"{url}/dags/{dag}/runs/{quote(run, safe='')}/plugin/blockread_run")
    page.frame_locator("iframe").locator("main .card").wait_for()
    _save(page, "run", height=737)
    page.goto(f"{url}/dags/{dag}/plugin/blockread_dag")
    page.frame_locator("iframe").locator("main .calendar").wait_for()
    _save(page, "dag")
    page.goto(f"{url}{_PAGES}/feeds/3")
    _save(page, "feed")
    page.locator("tbody tr", has_text="published").first.locator("a").first.click()
    page.locator(".proof").wait_for()
    _save(page, "window")
    page.locator("#files ~ .scroll a", has_text="-001").first.click()
    page.locator("svg.strip").wait_for()
    _save(page, "file")


def _save(page: Page, name: str, *, height: int = 800) -> None:
    page.wait_for_load_state("networkidle")
    path = PICTURES / f"{name}.png"
    page.screenshot(path=path, clip={"x": 0, "y": 0, "width": 1280, "height": height})
    print(f"{path.relative_to(PICTURES.parent.parent)}: {path.stat().st_size / 1000:.0f} kB", flush=True)


@contextmanager
def _airflow(folder: Path) -> Iterator[str]:
    """Give the address of Airflow's web server over the folder's ledger, where everybody is an administrator."""
    with closing(socket.socket()) as probe:
        probe.bind((LOOPBACK, 0))
        port = int(probe.getsockname()[1])
    home, dags = folder / "airflow", folder / "dags"
    (home / "logs").mkdir(parents=True)
    dags.mkdir()
    (dags / "shop.py").write_text(_DAGS.format(names=FEEDS))
    ledger = {"conn_type": "blockread", "extra": {"url": f"sqlite:///{folder / 'ledger.db'}"}}
    environment = {
        **os.environ,
        **settings(home, dags, port, None),
        "AIRFLOW_CONN_BLOCKREAD_DEFAULT": json.dumps(ledger),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",
    }
    airflow = str(Path(sys.executable).parent / "airflow")
    for command in (("db", "migrate"), ("dags", "reserialize")):
        subprocess.run([airflow, *command], env=environment, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    server = start("api-server", ("api-server",), environment)
    try:
        url = environment["AIRFLOW__API__BASE_URL"]
        wait_until_healthy(f"{url}/api/v2/monitor/health", server, home / "logs" / "api-server.log")
        yield url
    finally:
        end([server.pid])


@contextmanager
def _browser(folder: Path, url: str) -> Iterator[Page]:
    """Give a page of a browser in which the administrator is signed in, and the folder is never seen."""

    def renamed(route: Route) -> None:
        answer = route.fetch()
        if "text/html" in answer.headers.get("content-type", ""):
            route.fulfill(response=answer, body=answer.text().replace(str(folder), _SHOWN))
        else:
            route.fulfill(response=answer)

    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=sandbox)
        context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light")
        context.add_cookies([{"name": "_token", "value": _token(url), "url": url}])
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.route("**/blockread/**", renamed)
        yield page
        browser.close()


def _token(url: str) -> str:
    with urllib.request.urlopen(f"{url}/auth/token", timeout=60) as answer:  # noqa: S310 - our own Airflow
        found: Mapping[str, str] = json.loads(answer.read())
    return found["access_token"]


def _api(url: str, method: str, path: str, body: Mapping[str, Any]) -> None:
    headers = {"Authorization": f"Bearer {_token(url)}", "Content-Type": "application/json"}
    request = urllib.request.Request(  # noqa: S310 - our own Airflow
        f"{url}/api/v2/{path}", json.dumps(body).encode(), headers, method=method
    )
    urllib.request.urlopen(request, timeout=60).close()  # noqa: S310


if __name__ == "__main__":
    sys.exit(main())
