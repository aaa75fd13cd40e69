"""How many examples a law tries: so many under the profile `ci`, and in proportion under the others."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

_OF_CI = 100  # examples of a law that names no number


def examples(count: int, **others: Any) -> settings:
    """Return settings for that many examples under the profile `ci`, and in proportion under the one in use."""
    return settings(max_examples=max(1, round(count * settings().max_examples / _OF_CI)), **others)
