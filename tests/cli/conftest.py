"""The command line in a folder of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty source."""
    made = Place(tmp_path)
    made.source.mkdir()
    return made
