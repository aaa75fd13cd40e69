"""The pages in Chromium: nothing keeps people out, nothing is loaded from elsewhere, what moves moves."""

from __future__ import annotations

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Request

from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.windows.groups import claim_group, record_progress
from airflow_provider_blockread.observer import Tally
from tests.pages.browser import LOOKS, findings
from tests.pages.lake import Lake

_FACTS_ON_LINES = """
[...document.querySelectorAll(".facts")].some((a) => new Set([...a.children].map((one) => one.offsetTop)).size > 1)
"""


def addresses(lake: Lake) -> list[str]:
    """Return an address of each kind of page."""
    bad, broken = lake.file("&lt;.csv"), lake.file("broken.csv")
    lists = [f"/ledgers/main/feeds/1?show={tab}" for tab in ("windows", "waiting", "late", "left", "excluded")]
    windows = [lake.window("first"), f"{lake.window('first')}?bad=1", lake.window("second <script>")]
    others = ["/", broken, "/search?q=csv", "/search?q=x", "/search", "/ledgers/main/health", "/nowhere"]
    run = "dag_id=clicks&run_id=scheduled__1"
    tabs = ["dag?dag_id=clicks", "dag?dag_id=none", f"run?{run}", "run?dag_id=clicks&run_id=none"]
    tabs += [f"task?{run}&task_id=clicks.{task}" for task in ("plan", "read&map_index=0", "commit")]
    actions = [
        f"{windows[0]}/actions/{name}" for name in ("rebuild", "reprocess", "undo", "undo?files=pending", "abandon")
    ]
    health = "/ledgers/main/health?leftovers=1"
    return [*others, *lists, *windows, bad, f"{bad}/records?at=16&length=20", health, *actions] + [
        f"/tabs/{tab}" for tab in tabs
    ]


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_and_all_fits(browser: Browser, lake: Lake, site: str, look: str) -> None:
    """Each page is readable for everybody, no wider than the screen, and loads only what this server has."""
    context = browser.new_context(**LOOKS[look])
    page, asked, said = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    found = {}
    for path in addresses(lake):
        page.goto(site + path)
        found[path] = findings(page)
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found[path].append("wider than the screen")
        if look == "wide" and page.evaluate(_FACTS_ON_LINES):
            found[path].append("facts on more than one line")
    context.close()

    assert {path: lines for path, lines in found.items() if lines} == {}
    assert {url for url in asked if not url.startswith((f"{site}/", "data:"))} == set()
    assert len([line for line in said if "404" in line]) == 1  # the address that leads nowhere
    assert [line for line in said if "404" not in line] == []


def test_axe_finds_nothing_in_dialogs(browser: Browser, lake: Lake, site: str) -> None:
    """Neither in one that asks, nor in one that confirms; each is named and has the focus, and gives it back."""
    found = {}
    for look in ("narrow", "dark"):
        context = browser.new_context(**LOOKS[look])
        page = context.new_page()
        page.goto(site + lake.window("first"))
        for name in ("Rebuild", "Remove its output"):
            link = page.get_by_role("link", name=name)
            link.click()
            page.get_by_role("dialog", name=name).wait_for()
            found[look, name] = findings(page)
            assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
            page.keyboard.press("Escape")
            assert link.evaluate("link => link === document.activeElement")
        context.close()

    assert {where: lines for where, lines in found.items() if lines} == {}


def test_a_search_looks_further_until_it_finds(
    wide: BrowserContext, lake: Lake, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not among the files seen last is looked for among older ones by itself."""
    monkeypatch.setattr("airflow_provider_blockread.ledger.overview.files.SEARCHED_FILES", 1)
    page = wide.new_page()
    page.goto(f"{site}/search?q=.csv")
    first = page.locator(".found tbody tr").count()
    oldest = min((row for row in lake.rows), key=lambda row: row.file).version.path.rpartition("/")[2]
    page.goto(f"{site}/search?q={quote(oldest[-8:])}")
    page.locator(".found tbody tr").wait_for()

    assert first == 1
    assert page.locator(".found tbody tr").count() == 1


def test_the_keyboard_reaches_windows_in_the_chart(wide: BrowserContext, lake: Lake, site: str) -> None:
    """The first key leads past the header; a window in the chart opens by Enter."""
    page = wide.new_page()
    page.goto(f"{site}/ledgers/main/feeds/1")
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.textContent")
    page.locator("svg.chart a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{lake.window('first')}")

    assert first == "Skip to the content"


def test_a_strip_says_what_it_shows_on_hover_and_on_focus(wide: BrowserContext, lake: Lake, site: str) -> None:
    """The receipt of a block is below the strip; arrows go from block to block, and Enter to its line."""
    page = wide.new_page()
    page.goto(site + lake.file("good.csv"))
    blocks, said = page.locator("svg.strip a"), page.locator("svg.strip + .readout")
    labels = [str(blocks.nth(number).get_attribute("aria-label")) for number in range(blocks.count())]
    before = said.inner_text()
    blocks.nth(2).hover()
    hovered = said.inner_text()
    page.mouse.move(0, 0)
    after = said.inner_text()
    blocks.first.focus()
    found = [said.inner_text()]
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home"):
        page.keyboard.press(key)
        found.append(said.inner_text())
    page.keyboard.press("Enter")
    page.locator("tr:target").wait_for()

    assert before == after == "10 blocks of the file"
    assert hovered == labels[2]
    assert re.fullmatch(
        r"block \d+: done, bytes 0 to 40, group 0, \d+ records, 0 bad, first record at byte 10", labels[0]
    )
    assert found == [labels[0], labels[1], labels[2], labels[1], labels[-1], labels[0]]
    assert page.locator("svg.strip a[tabindex='0']").count() == 1
    assert page.locator("tr:target td").first.inner_text() == labels[0].split()[1].rstrip(":")


def test_a_calendar_says_what_a_day_has(wide: BrowserContext, site: str) -> None:
    """On hover, below it; a day opens the windows of its intervals."""
    page = wide.new_page()
    page.goto(f"{site}/tabs/dag?dag_id=clicks")
    day = page.locator(".calendar a.day").last
    label = day.get_attribute("title")
    day.hover()
    said = page.locator(".calendar + .readout").inner_text()
    day.click()
    page.wait_for_url("**/feeds/1?day=*")

    assert said == label
    assert page.locator("tbody tr").count() >= 2


def test_blocks_and_records_move_without_reload(wide: BrowserContext, lake: Lake, site: str) -> None:
    """While a group is read the page asks for one small JSON; once nothing moves it stops."""
    pipe = lake.pipe
    pipe.with_policies(on_bad_record="quarantine")
    pipe.put({"moving.csv": b"id,name,n\n" + b"1,x,2\n" * 60})
    ref = lake.plan("third")
    claim = claim_group(
        pipe.env.ledger,
        GroupRef(window=ref.window, generation=1, group=0),
        owner="me",
        clear_number=0,
        stale_after_s=60,
    )
    page, live = wide.new_page(), []
    page.on("request", lambda request: live.append(request) if _is_live(request) else None)
    page.goto(site + lake.window("third"))
    page.evaluate("window.kept = true")
    page.locator("[data-live] svg.strip a").first.focus()
    before = page.locator("tbody tr").first.inner_text()
    assert claim is not None
    record_progress(pipe.env.ledger, claim, Tally(blocks=2, records=12, bad_records=0, bytes=80))
    page.locator("td", has_text="2 of 5").wait_for(timeout=15_000)
    kept, asked = page.evaluate("window.kept"), len(live)
    focused = page.evaluate("document.activeElement.closest('[data-live] svg.strip') !== null")
    pipe.pass_seconds(120)
    page.locator(".lead .k-stalled").wait_for(timeout=15_000)
    page.wait_for_load_state("networkidle")

    assert "0 of 5" in before
    assert kept is True
    assert focused  # what moves does not take the focus away
    assert 1 <= asked <= 4
    assert page.evaluate("window.kept") is None  # reloaded, since more has changed than what moves


def _is_live(request: Request) -> bool:
    return request.url.endswith("/live")
