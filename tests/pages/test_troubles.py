"""Errors in parts, as pages show them."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.pages.display.troubles import brief, trouble_of

_HAPPENED = "the record at byte 3 of file:///in/{} block 0 bytes [0, 9) is not valid JSON"


@pytest.mark.parametrize("name", ["a.json", "a; b.json", "a; `blockread undo`; b.json"])
def test_what_happened_is_parted_from_what_to_do(name: str) -> None:
    """At the semicolon of the message, not at one in the name of a file."""
    happened = _HAPPENED.format(name)
    trouble = trouble_of(f"{happened}; correct the file", "sqlite:///l.db")

    assert (trouble.headline, trouble.advice) == (happened, "Correct the file")
    assert brief(f"{happened}; correct the file") == f"the record at byte 3 of {name} is not valid JSON"
