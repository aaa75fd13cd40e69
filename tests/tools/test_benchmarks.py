"""Every benchmark that can be named can be started."""

from __future__ import annotations

from importlib import import_module

import pytest

from benchmarks.__main__ import NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_can_be_imported(name: str) -> None:
    """Its module has what the program calls."""
    assert callable(import_module(f"benchmarks.{NAMES[name]}").run)
