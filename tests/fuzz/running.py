"""Trying one trial after another until time is up or one has a problem."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count

from tests.fuzz.checking import problem
from tests.fuzz.making import make_trial
from tests.fuzz.model import Trial, load_corpus


@dataclass(frozen=True, kw_only=True)
class Found:
    """A trial that fails, its number, and why."""

    number: int
    trial: Trial
    problem: str


def fuzz(
    seed: str, seconds: float, *, only: int | None = None, clock: Callable[[], float] = time.monotonic
) -> tuple[int, Found | None]:
    """Return how many trials were tried, and the first that failed."""
    corpus, end, tried = load_corpus(), clock() + seconds, 0
    numbers: Iterable[int] = count() if only is None else [only]
    for number in numbers:
        if clock() >= end:
            break
        trial = make_trial(seed, number, corpus)
        tried += 1
        wrong = problem(trial)
        if wrong is not None:
            return tried, Found(number=number, trial=trial, problem=wrong)
    return tried, None
