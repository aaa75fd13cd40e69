"""The list of fault points: complete, and every one of them is come by."""

from __future__ import annotations

import pytest

from tests.crash.killing import DATABASES, Lab, Traces, as_table, unreached
from tests.crash.scenarios.unreached import UNREACHED
from tests.crash.sites import all_sites, listed_sites

pytestmark = [pytest.mark.postgres, pytest.mark.crash]


def test_every_statement_and_step_is_listed() -> None:
    """A new ledger statement, commit or change of a store has its line: `python -m tests.crash --list` writes it."""
    assert listed_sites() == all_sites()


def test_scenarios_work_when_nothing_dies(traces: Traces) -> None:
    """Each ends with the records that its retry is compared with, and a repetition changes nothing."""
    wrong = [f"{outcome.case}: {outcome.wrong}" for outcome in traces.values() if outcome.wrong]

    assert not wrong, "\n".join(wrong)


def test_every_fault_point_is_come_by(traces: Traces) -> None:
    """A new statement needs a scenario in which it runs, or the reason why nothing can be lost there."""
    assert set(unreached(traces)) == set(UNREACHED)


def test_every_fault_point_is_killed_at(lab: Lab, traces: Traces) -> None:
    """The cases that are run leave none out, whatever the seed."""
    names = {case.fault.name for case in lab.kills(traces) if case.fault and case.database == DATABASES[0]}

    assert names == {name for (database, _), o in traces.items() if database == DATABASES[0] for name, _, _ in o.trace}
    assert all(f"`{site}`" in as_table([]) for site in all_sites())
