"""Times of pages in Chromium."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext

from tests.pages.lake import Lake


@pytest.mark.parametrize("place", ["window", "tab"])
def test_exact_times_are_shown_without_a_mouse(wide: BrowserContext, lake: Lake, site: str, place: str) -> None:
    """A switch, which the keyboard reaches, shows all of them, also on the next page, until it is pressed again."""
    page = wide.new_page()
    there = {"window": lake.window("first"), "tab": "/tabs/run?dag_id=clicks&run_id=scheduled__1"}
    page.goto(site + there[place])
    times = page.locator("time").all_inner_texts()
    page.get_by_role("button", name="Exact times").focus()
    page.keyboard.press("Enter")
    exact = page.locator("time").all_inner_texts()
    page.reload()
    kept = page.locator("time").all_inner_texts()
    is_wider = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page.get_by_role("button", name="Exact times", pressed=True).click()

    assert times
    assert not [text for text in times if text.endswith("UTC")]
    assert all(text.endswith("UTC") for text in exact)
    assert kept == exact
    assert not is_wider
    assert page.locator("time").all_inner_texts() == times
