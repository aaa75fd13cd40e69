"""Colours and widths of pages in Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.pages.browser import LOOKS
from tests.pages.lake import Lake


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


def test_a_day_of_the_calendar_has_the_colours_of_its_windows(wide: BrowserContext, lake: Lake, site: str) -> None:
    """Also of one that is planned: what has no colour of its own is grey, and not black."""
    lake.pipe.put({"planned.csv": b"id,name,n\n1,x,2\n"})
    lake.plan("planned")
    page = wide.new_page()
    page.goto(f"{site}/tabs/dag?dag_id=clicks")
    bars = page.locator(".calendar rect.k-planned")

    assert bars.count() == 1
    assert bars.first.evaluate("one => getComputedStyle(one).fill") != "rgb(0, 0, 0)"


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


@pytest.mark.parametrize(
    ("where", "what"),
    [("/", ".feeds small"), ("first", "main > .soft"), ("good.csv", ".life a"), ("second <script>", ".next code")],
)
def test_long_names_wrap_below_it(browser: Browser, lake: Lake, site: str, where: str, what: str) -> None:
    """The name of a DAG may have 250 characters without a space, and so may a run and a window's key."""
    context = browser.new_context(**LOOKS["narrow"])
    page = context.new_page()
    address = lake.file(where) if where.endswith(".csv") else where if where == "/" else lake.window(where)
    page.goto(site + address)
    page.evaluate("what => { document.querySelector(what).textContent = 'k'.repeat(250) }", what)
    too_wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    context.close()

    assert not too_wide


def test_a_name_that_runs_to_the_left_leaves_its_line_in_order(wide: BrowserContext, site: str) -> None:
    """A number behind it stays behind it."""
    page = wide.new_page()
    page.goto(site)
    name = page.locator(".feeds p a").last
    name.evaluate("name => { name.textContent = 'מפתח'; name.nextSibling.textContent = ' '; }")
    place, after = name.bounding_box(), name.locator("xpath=following-sibling::time[1]").bounding_box()

    assert place
    assert after
    assert place["x"] + place["width"] <= after["x"]


def test_without_scripts_nothing_is_shown_that_does_nothing(browser: Browser, lake: Lake, site: str) -> None:
    """What only a script can do is there for those who have scripts."""
    seen = []
    for scripts in (True, False):
        context = browser.new_context(**LOOKS["wide"], java_script_enabled=scripts)
        page = context.new_page()
        page.goto(site + lake.window("second <script>"))
        buttons = page.locator("[data-copy], [data-times], [data-theme-switch]")
        seen.append({one.is_visible() for one in buttons.all()})
        context.close()

    assert seen == [{True}, {False}]


def _paper(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
