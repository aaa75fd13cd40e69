"""The pages inside a real Airflow, in a real browser: tabs in its sandboxed frame, links out of it, and actions."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, FrameLocator, Page, expect, sync_playwright

from airflow_provider_blockread.ledger.overview.windows import list_windows
from airflow_provider_blockread.ledger.schema.tables import groups
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.withdrawing import find_withdrawal
from tests.system.client import PATIENCE_S, Airflow, lines

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.postgres,
    pytest.mark.system,
    pytest.mark.timeout(600),  # seconds; the first of these tests starts Airflow
]


@pytest.fixture
def context(airflow: Airflow) -> Iterator[BrowserContext]:
    """A browser in which the administrator is signed in."""
    sandbox = [] if os.geteuid() else ["--no-sandbox"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=sandbox)
        made = browser.new_context(viewport={"width": 1400, "height": 900})
        made.add_cookies([{"name": "_token", "value": airflow.token, "url": airflow.url}])
        made.set_default_timeout(PATIENCE_S * 1000)
        yield made
        browser.close()


def _again(context: BrowserContext) -> BrowserContext:
    """Return another context of the browser, in which the same person is signed in; it ends with the browser."""
    assert context.browser is not None
    return context.browser.new_context(storage_state=context.storage_state())


def _frame(page: Page, airflow: Airflow, path: str) -> FrameLocator:
    """Return the frame of a view on a page of Airflow's, once it is there."""
    page.goto(f"{airflow.url}{path}")
    frame = page.frame_locator("iframe")
    frame.locator("main").wait_for()
    return frame


@contextmanager
def _neighbour(form: str) -> Iterator[str]:
    """Serve a page on another port of this host that submits a form at once."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(f"<body onload='document.forms[0].submit()'>{form}</body>".encode())

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_a_failed_window_is_found_and_given_up_inside_airflow(airflow: Airflow, context: BrowserContext) -> None:
    """From the run's tab to the window and its actions, without leaving the frame; then out of it to the DAG."""
    airflow.land("shown", a=3, b=3)
    run = airflow.start("shown")
    assert airflow.finish("shown", run) == "failed"
    page, elsewhere = context.new_page(), []
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith((airflow.url, "data:", "blob:")) else elsewhere.append(request.url)
        ),
    )
    frame = _frame(page, airflow, f"/dags/shown/runs/{quote(run, safe='')}/plugin/blockread_run")

    expect(frame.get_by_role("alert").first).to_contain_text("is not to my taste")
    expect(frame.get_by_text("airflow dags clear shown")).to_be_visible()
    with closing(Ledger(airflow.ledger)) as ledger:
        (summary,) = list_windows(ledger, "shown.logs")
        window, path = summary.window.id, f"/blockread/ledgers/ledger/windows/{summary.window.id}"

        form = f"<form method=post action='{airflow.url}{path}/actions/abandon'><input name=token value=1></form>"
        other = _again(
            context
        ).new_page()  # left open: Chromium at times hangs when a page closes right after a refusal
        with _neighbour(form) as address, other.expect_response(f"**{path}/**") as refused:
            other.goto(address)
        assert refused.value.status == 403

        frame.get_by_role("link", name=summary.window.key).click()
        frame.get_by_role("link", name="Give it up").click()
        dialog = frame.get_by_role("dialog")
        expect(dialog).to_contain_text("go back to pending")
        page.keyboard.press("Escape")
        expect(dialog).to_have_count(0)
        frame.get_by_role("link", name="Give it up").click()
        dialog.get_by_role("link", name="Cancel").click()
        expect(dialog).to_have_count(0)
        assert find_withdrawal(ledger, window) is None

        frame.get_by_role("link", name="Give it up").click()
        dialog.get_by_role("button", name="Give it up").click()
        expect(frame.get_by_role("status")).to_have_text("Done.")
        held = find_withdrawal(ledger, window)
    assert held is not None
    assert held.who == "admin"

    frame.get_by_role("link", name="Block read").click()
    frame.locator("a[data-out]", has_text="shown").first.click()
    page.wait_for_url(f"{airflow.url}/dags/shown**")
    assert elsewhere == []


def test_links_lead_out_of_the_frame(airflow: Airflow, context: BrowserContext) -> None:
    """To the run and to its task in Airflow's own page, and to Spark's pages in a new one that knows nothing of it."""
    airflow.land("seen", links=4)
    run = airflow.start("seen")
    assert airflow.finish("seen", run) == "success"
    with closing(Ledger(airflow.ledger)) as ledger, ledger.writing() as connection:
        connection.execute(groups.update().values(application="app-7"))
    context.route("http://history.test/**", lambda route: route.fulfill(body="of Spark"))
    page, of_run = context.new_page(), f"/dags/seen/runs/{quote(run, safe='')}"
    for link, leads_to in ((f"seen/{run}", of_run), ("logs.plan", f"{of_run}/tasks/logs.plan")):
        frame = _frame(page, airflow, f"{of_run}/plugin/blockread_run")
        frame.locator(".card h2 a").click()
        frame.locator("a[data-out]").get_by_text(link, exact=True).click()
        page.wait_for_url(f"{airflow.url}{leads_to}**")
    frame = _frame(page, airflow, f"{of_run}/tasks/logs.read/mapped/0/plugin/blockread_task")
    with context.expect_page() as opened:
        frame.get_by_role("link", name="Spark app-7").click()

    expect(opened.value.locator("body")).to_have_text("of Spark")
    assert opened.value.url == "http://history.test/history/app-7/"
    assert opened.value.evaluate("opener") is None


def test_each_tab_says_what_its_place_has(airflow: Airflow, context: BrowserContext) -> None:
    """The task instance its group, and the DAG its feed; tasks link to their window."""
    airflow.land("seen", tab=10)
    run = airflow.start("seen")
    assert airflow.finish("seen", run) == "success"
    page, of_run = context.new_page(), f"/dags/seen/runs/{quote(run, safe='')}"

    expect(
        _frame(page, airflow, f"{of_run}/tasks/logs.read/mapped/0/plugin/blockread_task").locator("main")
    ).to_contain_text("group 0 of 1")
    expect(_frame(page, airflow, "/dags/seen/plugin/blockread_dag").locator("main")).to_contain_text("seen.logs")
    links = airflow.call("GET", f"{of_run[1:].replace('/runs/', '/dagRuns/')}/taskInstances/logs.commit/links")[
        "extra_links"
    ]
    page.goto(f"{airflow.url}{links['Window']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text(run)
    assert links["Output"] == f"{links['Window']}#outputs"


def test_a_window_is_rebuilt_and_verified_from_its_page(airflow: Airflow, context: BrowserContext) -> None:
    """The tasks of its run read it again, with an entry in Airflow's audit log; what is published stays until then."""
    airflow.land("again", a=5)
    run = airflow.start("again")
    assert airflow.finish("again", run) == "success"
    page, published = context.new_page(), airflow.files("again")
    link = airflow.call("GET", f"dags/again/dagRuns/{quote(run, safe='')}/taskInstances/logs.plan/links")
    for action, generation in (("Rebuild", 2), ("Verify", 3)):
        page.goto(f"{airflow.url}{link['extra_links']['Window']}")
        page.get_by_role("link", name=action).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text(f"as generation {generation}")
        dialog.get_by_role("button", name=action).click()
        expect(page.get_by_role("status")).to_have_text("Done.")
        assert airflow.finish("again", run) == "success"
        assert airflow.xcom("again", run, "logs.commit")["generation"] == generation
        assert (airflow.files("again") == published) == (action == "Verify")
        published = airflow.files("again")
    log = airflow.call("GET", "eventLogs?dag_id=again&limit=100")["event_logs"]

    assert {(entry["event"], entry["owner"]) for entry in log} >= {
        ("blockread rebuild", "admin"),
        ("blockread verify", "admin"),
    }
    assert airflow.values("again") == lines(a=5)
