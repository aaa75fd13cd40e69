"""How many examples a law tries, in proportion to the number of the Hypothesis profile in use."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_DEFAULT = 100  # Hypothesis' own number of examples


def examples(count: int, **others: Any) -> settings:
    """Return settings for that many examples under a profile of 100, and in proportion under the one in use."""
    return settings(max_examples=max(1, round(count * settings().max_examples / _DEFAULT)), **others)
