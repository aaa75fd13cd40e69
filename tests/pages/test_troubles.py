"""Errors in parts, as pages show them."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.ledger.windows.generations import PRUNED
from airflow_provider_blockread.pages.display.troubles import brief, trouble_of

_HAPPENED = "the record at byte 3 of file:///in/{} block 0 bytes [0, 9) is not valid JSON"


@pytest.mark.parametrize("name", ["a.json", "a; b.json", "a; `blockread undo`; b.json"])
def test_what_happened_is_parted_from_what_to_do(name: str) -> None:
    """At the semicolon of the message, not at one in the name of a file."""
    happened = _HAPPENED.format(name)
    trouble = trouble_of(f"{happened}; correct the file", "sqlite:///l.db")

    assert (trouble.headline, trouble.advice) == (happened, "Correct the file")
    assert brief(f"{happened}; correct the file") == f"the record at byte 3 of {name} is not valid JSON"


def test_no_command_that_is_no_remedy_is_put_to_copy() -> None:
    """What would have kept a plan is no help once it is gone, and takes others away when it is called."""
    assert "--keep-manifests" in PRUNED
    assert trouble_of(f"window 0 was pruned on 2026-01-03: {PRUNED}", "sqlite:///l.db").commands == ()
