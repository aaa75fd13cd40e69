"""What a page in Chromium does when something else has changed: by its own action, or without it."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, BrowserContext, Page

from airflow_provider_blockread.ledger.model import Claim, GroupRef
from airflow_provider_blockread.ledger.windows.groups import claim_group, fail_group
from airflow_provider_blockread.pages.app import make_app
from tests.pages.browser import LOOKS, served
from tests.pages.lake import Lake
from tests.pages.visitors import Person, site_of


def test_an_action_is_sent_once(wide: BrowserContext, lake: Lake, site: str) -> None:
    """While the server is at work the button is off; then the page says what was done, also after a reload."""
    page, sent = wide.new_page(), []
    page.goto(f"{site}{lake.window('second <script>')}/actions/exclude?path={lake.pipe.uri('broken.csv')}&reason=bad")
    page.on("request", lambda request: sent.append(request) if request.method == "POST" else None)
    page.evaluate("document.addEventListener('submit', (event) => event.preventDefault(), { once: true })")
    button = page.get_by_role("button", name="Leave a file out")
    button.click()
    off = button.is_disabled()
    page.evaluate("document.querySelector('form[method=post]').submit()")
    page.get_by_role("status").wait_for()
    page.reload()

    assert off
    assert page.get_by_role("status").inner_text() == "Done."
    assert len(sent) == 1


def test_a_page_of_who_is_signed_out_says_so(wide: BrowserContext, lake: Lake) -> None:
    """What moves is not shown any more as if it still did."""
    person = Person()
    lake.pipe.put({"signed_out.csv": b"id,name,n\n1,x,2\n"})
    ref = lake.plan("signed out")
    group = GroupRef(window=ref.window, generation=1, group=0)
    claim_group(lake.pipe.env.ledger, group, owner="me", clear_number=0, stale_after_s=60)
    with served(make_app(site_of(lake.pipe.env, person))) as address:
        page = wide.new_page()
        page.goto(address + lake.window("signed out"))
        before = page.locator(".lead .state").inner_text()
        person.known = False
        page.get_by_text("Please sign in").wait_for(timeout=15_000)
        page.close()

    assert "reading" in before


def _reading(lake: Lake, name: str) -> Claim:
    """Return a claim on the group of a window that is being read."""
    lake.pipe.put({f"{name} of a name that makes the table wide.csv": b"id,name,n\n1,x,2\n"})
    group = GroupRef(window=lake.plan(name).window, generation=1, group=0)
    held = claim_group(lake.pipe.env.ledger, group, owner="me", clear_number=0, stale_after_s=6000)
    assert held is not None
    return held


def _look_again(page: Page) -> None:
    """Wait until the page has shown what it has asked for again: then it asks once more."""
    for _ in range(2):
        with page.expect_response("**/live"):
            pass


def test_what_moves_leaves_what_a_person_does(browser: Browser, lake: Lake, site: str) -> None:
    """A table stays where it was scrolled to; an open dialog stays, with what was written, until it is closed."""
    held = _reading(lake, "moving")
    context = browser.new_context(**LOOKS["narrow"])
    page = context.new_page()
    page.goto(site + lake.window("moving"))
    table = page.locator('[aria-label="Groups"].scroll')
    table.evaluate("table => { table.scrollLeft = 200; }")
    before = page.locator("[data-live]").inner_text()
    lake.pipe.pass_seconds(5)
    _look_again(page)
    after = page.locator("[data-live]").inner_text()
    across = table.evaluate("table => table.scrollLeft")
    page.get_by_role("link", name=re.compile("Leave a file out")).first.click()
    page.get_by_label("reason").fill("a customer asked for it")
    fail_group(lake.pipe.env.ledger, held, "it failed")
    _look_again(page)
    written = page.get_by_label("reason").input_value()
    page.get_by_role("link", name="Cancel").click()
    page.locator(".lead .state").get_by_text("failed").wait_for(timeout=15_000)
    context.close()

    assert before != after
    assert across == 200
    assert written == "a customer asked for it"


def test_a_double_click_opens_one_dialog(wide: BrowserContext, lake: Lake, site: str) -> None:
    """However late the server answers."""
    page, routes = wide.new_page(), []
    page.goto(site + lake.window("second <script>"))
    page.route("**/actions/**", lambda route: routes.extend([route]))
    page.get_by_role("link", name=re.compile("Leave a file out")).first.dblclick()
    dialogs = page.locator("dialog").count()
    for route in routes:
        route.continue_()
    page.locator("dialog[open]").wait_for()

    assert (dialogs, page.locator("dialog").count()) == (1, 1)
