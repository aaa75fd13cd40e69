"""What a page in Chromium does when something else has changed: by its own action, or without it."""

from __future__ import annotations

from playwright.sync_api import BrowserContext

from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.windows.groups import claim_group
from airflow_provider_blockread.pages.app import make_app
from tests.pages.browser import served
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
