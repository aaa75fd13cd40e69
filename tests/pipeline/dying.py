"""A step that dies, as in a killed process: nothing behind it runs, and nothing is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from airflow_provider_blockread.sinks.directory import Directory
from airflow_provider_blockread.steps import journal
from airflow_provider_blockread.steps.commit import committing
from airflow_provider_blockread.steps.upkeep import withdrawing

_OF_DIRECTORIES = {"publish_file": "_add", "remove_file": "_remove", "sweep": "sweep"}


class Died(BaseException):
    """A process that is gone."""


def place(name: str) -> tuple[object, str]:
    """Return where a step of committing or withdrawing is, to be patched: its module or class, and its name there."""
    if name in _OF_DIRECTORIES:
        return Directory, _OF_DIRECTORIES[name]
    return next(module for module in (committing, journal, withdrawing) if hasattr(module, name)), name


def param(name: str) -> ParameterSet:
    """Return such a step as the last argument of a test, which runs only where it is taken."""
    return pytest.param(name, marks=pytest.mark.files if name in _OF_DIRECTORIES else ())


def place_param(name: str) -> ParameterSet:
    """Return the place of such a step as the last arguments of a test, which runs only where it is taken."""
    return pytest.param(*place(name), marks=pytest.mark.files if name in _OF_DIRECTORIES else ())


@contextmanager
def dying(name: str, after: int) -> Iterator[None]:
    """Let the process die at a step, after so many of them."""
    step: Callable[..., Any] = getattr(*place(name))
    left = [after]

    def die_later(*arguments: Any, **options: Any) -> Any:
        if not left[0]:
            raise Died
        left[0] -= 1
        return step(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*place(name), die_later)
        yield
