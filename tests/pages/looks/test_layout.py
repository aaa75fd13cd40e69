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


def _paper(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))
