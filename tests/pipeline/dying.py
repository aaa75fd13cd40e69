"""A commit that dies at one of its steps, as a killed process does: nothing behind it runs, and nothing is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from airflow_provider_blockread.steps.commit import committing


class Died(BaseException):
    """A process that is gone."""


@contextmanager
def dying(name: str, after: int) -> Iterator[None]:
    """Let the process die at a step of publishing, after so many of them."""
    step: Callable[..., None] = getattr(committing, name)
    left = [after]

    def die_later(*arguments: Any) -> None:
        if not left[0]:
            raise Died
        left[0] -= 1
        step(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(committing, name, die_later)
        yield
