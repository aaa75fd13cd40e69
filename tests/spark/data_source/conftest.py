"""Makes the helpers of the tests of records importable by plain names, as a user's module is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_RECORDS = str(Path(__file__).parents[2] / "records")
if _RECORDS not in sys.path:
    sys.path.insert(0, _RECORDS)


@pytest.fixture(autouse=True)
def _errors_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of the data source changes the environment of its worker, which is this process here."""
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
