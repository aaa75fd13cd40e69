"""A user's desk: an empty source, and the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_blockread.cli.spark import InProcessSpark
from tests.pipeline.here import ReadHere
from tests.remedies.data.desk import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """An empty source; what runs read is read in this very process, and no JVM is asked for."""
    monkeypatch.setattr(
        InProcessSpark, "submit", lambda _, submission, *, name: ReadHere().submit(submission, name=name)
    )
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch(0o755)
    monkeypatch.setenv("JAVA_HOME", str(java.parents[1]))
    made = Desk(tmp_path)
    made.source.mkdir()
    return made
