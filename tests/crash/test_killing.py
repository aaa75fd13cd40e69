"""A process dies at a fault point, or falls asleep there and wakes up too late: each record is published once.

On SQLite a process dies at every fault point, in a scenario that SEED chooses; the rest is a sample that SEED chooses,
too. `make crash` runs all.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.crash.cases import Case, Outcome
from tests.crash.killing import DATABASES, Lab, Traces

pytestmark = [pytest.mark.postgres, pytest.mark.crash]

_KILLED = {"sqlite": 1000, "postgresql": 40}
_ASLEEP = 15
_PARTS = 6  # each ends well within the time that a test has


def _run(lab: Lab, cases: Iterable[Case]) -> list[Outcome]:
    outcomes = list(lab.run(cases))
    wrong = [f"{outcome.case}: {outcome.wrong}" for outcome in outcomes if outcome.wrong]
    assert outcomes
    assert not wrong, "\n".join(wrong)
    return outcomes


@pytest.mark.parametrize("part", range(_PARTS))
@pytest.mark.parametrize("database", DATABASES)
def test_killed(lab: Lab, traces: Traces, database: str, part: int) -> None:
    """Whoever comes next, a retry or another owner, publishes every record once, and leaves nothing lying about."""
    cases = [case for case in lab.kills(traces) if case.database == database]

    _run(lab, lab.some(cases, _KILLED[database])[part::_PARTS])


@pytest.mark.parametrize("database", DATABASES)
def test_asleep(lab: Lab, traces: Traces, database: str) -> None:
    """A process that wakes up when its work is done by another, and rebuilt, changes nothing and ends in a conflict."""
    cases = [case for case in lab.sleeps(traces) if case.database == database]

    outcomes = _run(lab, lab.some(cases, _ASLEEP))

    assert any("FencedError" in outcome.zombie for outcome in outcomes)
