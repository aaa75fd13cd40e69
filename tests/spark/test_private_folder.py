"""Private folders: removed at the end, or when the next one is made."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from airflow_provider_blockread.spark.private_folder import private_folder

_HOLDS = """
import os, sys, time
from airflow_provider_blockread.spark.private_folder import private_folder
with private_folder() as folder:
    (folder / "secret").write_text("hush")
    print(folder, flush=True)
    sys.stdin.read()
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of this test's own."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_a_folder_is_private_and_goes(temporary: Path) -> None:
    """Nobody else can open it, and it is gone at the end."""
    with private_folder() as folder:
        assert folder.stat().st_mode & 0o077 == 0
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_the_folder_of_a_killed_process_goes(temporary: Path) -> None:
    """That of a living one stays, and so do folders of others, and what a link leads to."""
    with subprocess.Popen([sys.executable, "-c", _HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        held = Path(process.stdout.readline().decode().strip())
        with private_folder():
            assert (held / "secret").exists()
        process.stdin.close()
    assert process.returncode == -9
    other = temporary / "blockread-other"
    other.mkdir()
    elsewhere = temporary / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (temporary / "blockread-link").symlink_to(elsewhere)
    assert held.exists()

    with private_folder() as mine:
        assert sorted(path.name for path in temporary.iterdir()) == [
            *sorted(["blockread-link", "blockread-other", mine.name]),
            "elsewhere",
        ]
