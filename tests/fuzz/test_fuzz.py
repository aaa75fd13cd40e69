"""The corpus of adversarial files holds at every block size, and so do new ones for as long as `FUZZ_SECONDS` says."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

from airflow_provider_blockread.options import Lines
from tests.fuzz.checking import HangError, limited, minimal, problem
from tests.fuzz.making import make_trial
from tests.fuzz.model import Trial, load_corpus, save
from tests.fuzz.running import fuzz

_SECONDS = float(os.environ.get("FUZZ_SECONDS", "5"))
_SEED = os.environ.get("SEED", "1")


@pytest.mark.parametrize("trial", [pytest.param(t, id=f"{t.option.kind}: {t.why}") for t in load_corpus()])
def test_the_corpus_holds(trial: Trial) -> None:
    """Every file of the corpus is read as plain Python reads it, at every block size and many sizes of chunks."""
    for reading in trial.every_reading():
        assert problem(reading) is None, reading


@pytest.mark.timeout(_SECONDS + 300)
def test_random_files_hold() -> None:
    """No random file of any format is read otherwise in blocks than by plain Python."""
    tried, found = fuzz(_SEED, _SECONDS)
    if found is not None:
        smallest = minimal(found.trial)
        again = f"python -m tests.fuzz --seed {_SEED} --number {found.number}"
        pytest.fail(f"{problem(smallest)}\n{smallest.to_json()}\nsave it to the corpus: {again}")

    assert tried > 0


def test_trials_can_be_made_again() -> None:
    """The same seed and number make the same trial, of every kind of format sooner or later."""
    trials = [make_trial("a", number, load_corpus()) for number in range(300)]

    assert trials == [make_trial("a", number, load_corpus()) for number in range(300)]
    assert len({trial.option.kind for trial in trials}) == 8


def test_a_trial_that_fails_is_made_small_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where package and reference disagree, the trial is found, shrinks, and goes to the corpus and back."""
    monkeypatch.setattr("tests.fuzz.checking.records_of", lambda _, data: [(0, data)] if b"x" in data else [(0, b"")])
    trial = Trial(option=Lines(encoding="binary"), data=b"ab\ncd x\nef\n" * 5, block_size=3, chunk=2)
    smallest = minimal(trial)

    assert problem(trial) is not None
    assert len(smallest.data) <= 2
    save(smallest, tmp_path)
    assert load_corpus(tmp_path) == [smallest]


def test_a_hang_is_noticed() -> None:
    """A trial that never ends is stopped, and the usual handling of signals comes back."""
    with pytest.raises(HangError, match="more than"), limited(0.05):
        for _ in count():
            pass
