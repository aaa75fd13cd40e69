"""A process dies at a fault point, or falls asleep there and wakes up too late: each record is published once.

On SQLite a process dies at every fault point, before it or behind it, in a scenario, both as SEED chooses; the rest is
a sample that SEED chooses, too. `make crash` runs all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

import pytest

from tests.crash.cases import Case, Outcome
from tests.crash.killing import DATABASES, Lab, Traces, point_of

pytestmark = [pytest.mark.postgres, pytest.mark.crash]

_ON_POSTGRESQL = 30
_ASLEEP = 15
_PARTS = 4  # each ends well within the time that a test has


def _run(lab: Lab, cases: Iterable[Case]) -> list[Outcome]:
    outcomes = list(lab.run(cases))
    wrong = [f"{outcome.case}: {outcome.wrong}" for outcome in outcomes if outcome.wrong]
    assert outcomes
    assert not wrong, "\n".join(wrong)
    return outcomes


def _one_each(lab: Lab, cases: Sequence[Case]) -> list[Case]:
    """Return a case of each fault point: before it or behind it, by turns that the seed begins."""
    points = [list(found) for _, found in groupby(cases, key=lambda case: point_of(case.fault))]
    return [found[(number + lab.seed) % len(found)] for number, found in enumerate(points)]


def _kills(lab: Lab, traces: Traces, database: str) -> list[Case]:
    return _one_each(lab, [case for case in lab.kills(traces) if case.database == database])


@pytest.mark.parametrize("part", range(_PARTS))
def test_killed(lab: Lab, traces: Traces, part: int) -> None:
    """A retry or another owner publishes every record once, and leaves nothing behind."""
    _run(lab, _kills(lab, traces, "sqlite")[part::_PARTS])


def test_killed_on_a_server(lab: Lab, traces: Traces) -> None:
    """The same, with the ledger on PostgreSQL."""
    _run(lab, lab.some(_kills(lab, traces, "postgresql"), _ON_POSTGRESQL))


@pytest.mark.parametrize("database", DATABASES)
def test_asleep(lab: Lab, traces: Traces, database: str) -> None:
    """A process that wakes up when its work is done by another, and rebuilt, changes nothing and ends in a conflict."""
    cases = [case for case in lab.sleeps(traces) if case.database == database]

    outcomes = _run(lab, lab.some(cases, _ASLEEP))

    assert any("FencedError" in outcome.zombie for outcome in outcomes)
