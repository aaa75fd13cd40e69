"""A feed for actions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pipeline.make import Pipe, ReadHere


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    """A feed of two files, read in this process."""
    made = Pipe(folder=tmp_path, submitter=ReadHere())
    made.put({"a": b"1\n2\n", "b": b"3\n"})
    yield made
    made.close()
