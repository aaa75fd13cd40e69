"""Adoption of an attempt whose application runs on a cluster by another process."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import FencedError
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.groups import (
    adopt_group,
    complete_group,
    fail_group,
    heartbeat,
    is_adopted,
)
from tests.ledger.make import claim, open_window, outcome, ref


def test_an_adopted_attempt_has_another_holder(ledger: Ledger) -> None:
    """Its epoch stays; the try that held it before is fenced, and so is a second one that would adopt it."""
    group = ref(open_window(ledger))
    before = claim(ledger, group)
    held = adopt_group(ledger, before)

    assert (held.epoch, held.holder, is_adopted(ledger, before), is_adopted(ledger, held)) == (1, 1, True, False)
    for change in (
        heartbeat,
        adopt_group,
        lambda *a: complete_group(*a, outcome(group)),
        lambda *a: fail_group(*a, ""),
    ):
        with pytest.raises(FencedError, match="adopted 1 times"):
            change(ledger, before)
    fail_group(ledger, held, "boom")
    again = claim(ledger, group)
    assert (again.epoch, again.holder, is_adopted(ledger, held)) == (2, 0, False)
