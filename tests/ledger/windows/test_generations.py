"""Passes over a window: which is worked on, which is shown."""

from __future__ import annotations

import pytest

from airflow_provider_blockread.errors import ConflictError, FencedError
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows.generations import (
    latest_generation,
    list_groups,
    published_generation,
    start_generation,
)
from airflow_provider_blockread.ledger.windows.publishing import check_publication
from airflow_provider_blockread.ledger.windows.queries import feed_counts
from tests.ledger.make import FEED, close_empty_window, committer, open_window, publish, read_all


def _state(ledger: Ledger, window: str) -> tuple[int, str]:
    generation = latest_generation(ledger, window)
    return generation.number, generation.state


def test_a_new_generation_reads_the_same_groups_again(ledger: Ledger) -> None:
    """Groups keep their plan and lose their results; options and clear number are the new ones."""
    window = open_window(ledger)
    read_all(ledger, window)

    generation = start_generation(ledger, window.id, options={"delimiter": ";"}, mode="write", clear_number=3)

    assert generation == latest_generation(ledger, window.id)
    assert (generation.number, generation.state, generation.clear_number) == (2, "reading", 3)
    assert generation.options == {"delimiter": ";"}
    first, second = list_groups(ledger, window.id, 1), list_groups(ledger, window.id, 2)
    assert [group.planned for group in second] == [group.planned for group in first]
    assert {(group.state, group.epoch, group.result_uri, group.records) for group in second} == {
        ("pending", 0, None, 0)
    }


def test_options_have_a_digest_that_ignores_their_order(ledger: Ledger) -> None:
    """Equal options are recognised by their digest, unequal ones too."""
    window = open_window(ledger)
    digests = [
        start_generation(ledger, window.id, options=options, mode="write", clear_number=0).options_digest
        for options in ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 3})
    ]

    assert digests[0] == digests[1] != digests[2]


def test_an_unfinished_generation_is_superseded_and_fenced(ledger: Ledger) -> None:
    """A process that was about to publish the earlier pass must stop."""
    window = open_window(ledger)
    read_all(ledger, window)
    held = committer(ledger, window)

    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)

    with pytest.raises(FencedError):
        check_publication(ledger, held)
    with pytest.raises(ConflictError, match="a newer generation has taken its place"):
        committer(ledger, window)


def test_the_published_generation_stays_until_it_is_replaced(ledger: Ledger) -> None:
    """A rebuild shows when it is published, not before; then the one before is superseded."""
    window = open_window(ledger)
    assert published_generation(ledger, window.id) is None
    publish(ledger, window)

    start_generation(ledger, window.id, options={}, mode="write", clear_number=1)
    shown = published_generation(ledger, window.id)
    assert shown is not None
    assert shown.number == 1

    publish(ledger, window, 2)
    shown = published_generation(ledger, window.id)
    assert shown is not None
    assert shown.number == 2
    assert feed_counts(ledger, FEED) == {"done": 2}


def test_a_third_generation_follows_an_abandoned_second(ledger: Ledger) -> None:
    """Numbers continue; the published one is not touched by those that come to nothing."""
    window = open_window(ledger)
    publish(ledger, window)
    for number in (2, 3):
        start_generation(ledger, window.id, options={}, mode="write", clear_number=number)

    assert _state(ledger, window.id) == (3, "reading")
    shown = published_generation(ledger, window.id)
    assert shown is not None
    assert shown.number == 1


def test_an_empty_window_has_no_generation(ledger: Ledger) -> None:
    """Asking for one, or starting one, says why there is none."""
    window = close_empty_window(ledger, FEED, "k", owner="me")

    with pytest.raises(ConflictError, match="is empty, so it has no generation"):
        latest_generation(ledger, window.id)
    with pytest.raises(ConflictError, match="is empty"):
        start_generation(ledger, window.id, options={}, mode="write", clear_number=0)
    with pytest.raises(ConflictError, match="unknown to this ledger"):
        latest_generation(ledger, "0" * 16)
