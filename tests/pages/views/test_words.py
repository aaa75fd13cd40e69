"""Numbers in readable form."""

from __future__ import annotations

from airflow_provider_blockread.pages.display.words import number


def test_a_count_is_shown_to_its_last_digit() -> None:
    """A number of bytes may be greater than a float holds exactly."""
    assert number(2**53 + 1) == "9,007,199,254,740,993"
    assert number(1204.6) == "1,205"
