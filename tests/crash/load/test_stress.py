"""Many processes at many windows, killed and stopped at random."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.crash.load.latency import LIMIT_S, measure
from tests.crash.load.stress import Stress
from tests.postgres import new_schema

pytestmark = [pytest.mark.postgres, pytest.mark.crash]

_FILES = 100_000
_BUSY = 10  # times as slow as a machine that has nothing else to do; `make stress` holds groups to the second itself


def test_stress(server: str, quick: Path) -> None:
    """Whatever dies or oversleeps, in the end each record is there once and no error was anything but a conflict."""
    url = new_schema(server, "stress")
    stress = Stress(folder=quick, url=url, windows=30, processes=4, seed=int(os.environ.get("SEED", "1")))
    figures = stress.run()

    assert figures.sound, f"{figures} {figures.errors[:5]}"
    assert figures.kills


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_groups_do_not_wait_for_a_large_plan(server: str, quick: Path, database: str) -> None:
    """While many files are planned, groups of the same feed are claimed, kept alive and completed in short turns."""
    url = f"sqlite:///{quick / 'ledger.db'}" if database == "sqlite" else new_schema(server, "latency")
    waits = measure(database, url, _FILES)

    assert waits.groups > 10
    assert waits.worst < _BUSY * LIMIT_S, str(waits)
