"""Two processes at once at a feed, a window or a publication: one wins, the other gets an error, nothing is doubled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crash.doomed import Doomed, strays
from tests.crash.scenarios.making import BAD, FILES
from tests.crash.scenarios.pairs import Job, open_pipe, run_pair
from tests.postgres import new_ledger, new_schema

pytestmark = [pytest.mark.postgres, pytest.mark.crash]

_ROUNDS = 3
_IDS = [1, 2, 3]


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, quick: Path, server: str) -> tuple[Path, str]:
    """A folder for pipelines, and the URL of their ledger."""
    if request.param == "sqlite":
        return quick, new_ledger(f"sqlite:///{quick / 'ledger.db'}")
    return quick, new_schema(server, f"pair_{quick.name.rpartition('-')[2].lower()}")


def _pipe(place: tuple[Path, str], number: int) -> Doomed:
    folder = place[0] / f"round{number}"
    folder.mkdir()
    pipe = open_pipe(folder, place[1])
    pipe.put_old(FILES)
    return pipe


def _check(pipe: Doomed) -> None:
    """Complete what is open, later and as another process, and count."""
    pipe.owner = "later"
    pipe.pass_seconds(3600)
    pipe.run()
    pipe.run("next")
    assert (pipe.ids(), pipe.quarantined(), strays(pipe)) == (_IDS, BAD, [])
    pipe.close()


@pytest.mark.parametrize("keys", [("w", "w"), ("w", "other")], ids=["one key", "two keys"])
def test_two_planners(place: tuple[Path, str], keys: tuple[str, str]) -> None:
    """The files are in one window; the other planner has none, or gets an error that names the first one."""
    for number in range(_ROUNDS):
        pipe = _pipe(place, number)
        jobs = [Job(folder=pipe.folder, url=place[1], step="plan", owner=f"p{n}", key=k) for n, k in enumerate(keys)]
        answers = run_pair(jobs)

        refused = [answer for answer in answers if answer not in {"read", "empty"}]
        assert all(answer.startswith("PlanConflictError: ") for answer in refused), refused
        assert keys[0] == keys[1] or not refused, refused
        assert answers.count("read") <= (2 if keys[0] == keys[1] else 1)
        pipe.run("other")
        _check(pipe)


@pytest.mark.parametrize("owners", [("a", "a"), ("a", "b")], ids=["same owner", "two owners"])
@pytest.mark.parametrize("step", ["read", "commit"])
def test_two_attempts(place: tuple[Path, str], step: str, owners: tuple[str, str]) -> None:
    """A live foreign owner is named; of one owner's two tries the later one wins, and the other must stop."""
    for number in range(_ROUNDS):
        pipe = _pipe(place, number)
        ref = pipe.plan()
        if step == "commit":
            pipe.read(ref)
        answers = run_pair([Job(folder=pipe.folder, url=place[1], step=step, owner=owner) for owner in owners])

        errors = {answer.partition(":")[0] for answer in answers if ":" in answer}
        assert errors <= {"FencedError", "OwnedError" if owners[0] != owners[1] else "FencedError"}, answers
        assert len(errors) < len(answers)
        _check(pipe)
