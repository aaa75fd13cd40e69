"""The pages in Chromium: nothing keeps people out, nothing is loaded from elsewhere, what moves moves."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request

from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.windows.groups import claim_group, record_progress
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.pages.app import make_app
from tests.pages.browser import chromium, findings, served
from tests.pages.lake import Lake, filled_lake
from tests.pages.visitors import Person, site_of

LOOKS = {
    "wide": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "narrow": {"viewport": {"width": 400, "height": 800}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser for all tests of this file."""
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def lake() -> Iterator[Lake]:
    """A published window and a failed one."""
    with tempfile.TemporaryDirectory(prefix="blockread-lake-") as folder, filled_lake(Path(folder)) as made:
        yield made


_FACTS_ON_LINES = """
[...document.querySelectorAll(".facts")].some((a) => new Set([...a.children].map((one) => one.offsetTop)).size > 1)
"""


@pytest.fixture(scope="module")
def site(lake: Lake) -> Iterator[str]:
    """The address of the pages."""
    with served(make_app(site_of(lake.pipe.env, Person()))) as address:
        yield address


@pytest.fixture
def wide(browser: Browser) -> Iterator[BrowserContext]:
    """A window of usual size."""
    context = browser.new_context(**LOOKS["wide"])
    yield context
    context.close()


def addresses(lake: Lake) -> list[str]:
    """Return an address of each kind of page."""
    bad, broken = lake.file("&lt;.csv"), lake.file("broken.csv")
    lists = [f"/ledgers/main/feeds/1?show={tab}" for tab in ("windows", "waiting", "late", "left", "excluded")]
    windows = [lake.window("first"), f"{lake.window('first')}?bad=1", lake.window("second <script>")]
    others = ["/", broken, "/search?q=csv", "/search?q=x", "/search", "/ledgers/main/health", "/nowhere"]
    run = "dag_id=clicks&run_id=scheduled__1"
    tabs = ["dag?dag_id=clicks", "dag?dag_id=none", f"run?{run}", "run?dag_id=clicks&run_id=none"]
    tabs += [f"task?{run}&task_id=clicks.{task}" for task in ("plan", "read&map_index=0", "commit")]
    actions = [f"{windows[0]}/actions/{name}" for name in ("rebuild", "undo", "undo?files=pending", "abandon")]
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


def test_the_reader_chooses_light_or_dark_and_it_stays(wide: BrowserContext, site: str) -> None:
    """The switch changes the colours of this page, and of the next ones."""
    page = wide.new_page()
    page.goto(site)
    light = _paper(page)
    page.click("[data-theme-switch]")
    dark = _paper(page)
    page.goto(f"{site}/ledgers/main/health")

    assert light != dark
    assert _paper(page) == dark


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


def test_in_a_frame_airflow_chooses_light_or_dark(wide: BrowserContext, site: str) -> None:
    """What the reader chose outside of it does not count there, where no switch could take it back."""
    page = wide.new_page()
    page.goto(site)
    light = _paper(page)
    page.click("[data-theme-switch]")
    dark = _paper(page)
    page.evaluate("localStorage.setItem('theme', 'light')")
    page.route("**/around", lambda route: route.fulfill(content_type="text/html", body="<iframe src='/'></iframe>"))
    page.goto(f"{site}/around")
    frame = page.frame_locator("iframe").locator("body")
    framed = frame.evaluate("body => getComputedStyle(body).backgroundColor")

    assert light != dark
    assert framed == light


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


def test_many_blocks_fill_a_narrow_strip(browser: Browser, lake: Lake, site: str) -> None:
    """Lines between them would be wider than they are; the colours of some states are lines, and stay."""
    lake.pipe.put({"many.csv": b"id,name,n\n" + b"1,x,2\n" * 1990})
    lake.plan("many")
    context = browser.new_context(**LOOKS["narrow"])
    page = context.new_page()
    page.goto(site + lake.file("many.csv"))
    blocks = page.locator("svg.strip .seg")
    count, lines = (
        blocks.count(),
        blocks.evaluate_all("all => [...new Set(all.map(one => getComputedStyle(one).stroke))]"),
    )
    page.goto(site + lake.file("good.csv"))
    few = page.locator("svg.strip .seg").first.evaluate("one => getComputedStyle(one).stroke")
    context.close()

    assert count > 200
    assert lines == ["none"]
    assert few != "none"


_OVERLAPS = """
(() => {
  const place = (one) => document.querySelector(one).getBoundingClientRect();
  const [crumbs, find] = [place(".crumbs a:last-child"), place(".find")];
  return crumbs.right > find.left && crumbs.left < find.right && crumbs.bottom > find.top && crumbs.top < find.bottom;
})()
"""


@pytest.mark.parametrize(("look", "length"), [("narrow", 67), ("wide", 200)])
def test_long_names_wrap_in_the_header(browser: Browser, lake: Lake, site: str, look: str, length: int) -> None:
    """The key of a window and the name of a feed may be one long word."""
    context = browser.new_context(**LOOKS[look])
    page = context.new_page()
    page.goto(site + lake.window("first"))
    page.evaluate(f"document.querySelector('.crumbs a:last-child').textContent = 'k'.repeat({length})")
    too_wide, overlaps = page.evaluate("document.documentElement.scrollWidth > innerWidth"), page.evaluate(_OVERLAPS)
    context.close()

    assert not too_wide
    assert not overlaps


def _is_live(request: Request) -> bool:
    return request.url.endswith("/live")


def _paper(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
