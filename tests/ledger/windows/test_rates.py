"""Rates of readers: those of the feed's newest windows that say something."""

from __future__ import annotations

from dataclasses import replace

from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.groups import complete_group
from airflow_provider_blockread.ledger.windows.rates import TINY, reader_rates
from tests.ledger import make


def _window(ledger: Ledger, key: str, *read: tuple[int, float], feed: str = make.FEED) -> None:
    """Plan a window whose groups were read: so many bytes in so many seconds of tasks."""
    window = make.open_window(ledger, key, [f"{feed}-{key}"], groups=len(read), feed=feed)
    for number, (size, seconds) in enumerate(read):
        group = make.ref(window, number)
        outcome = replace(make.outcome(group), read_bytes=size, reader_seconds=seconds)
        complete_group(ledger, make.claim(ledger, group), outcome)


def test_no_window_no_rate(ledger: Ledger) -> None:
    """A feed that nobody knows yet, and one whose window is not read yet."""
    assert reader_rates(ledger, make.FEED) == []
    make.open_window(ledger, "w", ["a"])
    assert reader_rates(ledger, make.FEED) == []


def test_a_rate_is_of_all_groups_of_a_window(ledger: Ledger) -> None:
    """Bytes by seconds of tasks, summed; groups that are not done do not count."""
    _window(ledger, "w", (3 * TINY, 2.0), (TINY, 6.0))
    assert reader_rates(ledger, make.FEED) == [TINY // 2]


def test_what_says_nothing_is_left_out(ledger: Ledger) -> None:
    """Tiny windows, unmeasured ones, and those of other feeds."""
    _window(ledger, "tiny", (TINY - 1, 1.0))
    _window(ledger, "unmeasured", (TINY, 0.0))
    _window(ledger, "foreign", (TINY, 1.0), feed="other")
    assert reader_rates(ledger, make.FEED) == []


def test_the_newest_five_count(ledger: Ledger) -> None:
    """Newest first; tiny ones between them take no place."""
    for number in range(1, 8):
        _window(ledger, f"w{number}", (TINY * number, 1.0))
        _window(ledger, f"tiny{number}", (1, 1.0))
    assert reader_rates(ledger, make.FEED) == [TINY * number for number in (7, 6, 5, 4, 3)]
