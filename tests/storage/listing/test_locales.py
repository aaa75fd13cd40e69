"""Processes in other locales: a file has one name in all of them, so that it is read once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_LIST = """
import sys
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.listing.files import list_files
try:
    for version in list_files(Stores(), FileSource(bytes.fromhex(sys.argv[1]).decode()), now_s=4e9):
        print(ascii(version.path))
except Exception as error:
    print(type(error).__name__, error)
"""
_READ = """
import sys
from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.options import Bounds
from airflow_provider_blockread.storage import Stores
from airflow_provider_blockread.storage.versions import version_now
from airflow_provider_blockread.storage.whole import read_whole
version = FileVersion(path="file://" + bytes.fromhex(sys.argv[1]).decode(), size=1, mtime_ns=0)
assert list(read_whole(Stores(), [version], Bounds())) == [None]
for read in (lambda: Stores().read_bytes(version.path), lambda: version_now(Stores(), version).size):
    try:
        print(read())
    except Exception as error:
        print(type(error).__name__, error)
"""


def _says(code: str, path: Path, **changed: str) -> list[str]:
    """Return what code prints in a process that takes names as the system's oldest locale has them."""
    oldest = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "utf-8"}
    command = [sys.executable, "-c", code, str(path).encode().hex()]
    environment = {**os.environ, **oldest, **changed}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("code", "name", "finds"),
    [
        (_LIST, "", [r"'file://{}/\xe9.txt'"]),
        (_LIST, "\u00e9.txt", [r"'file://{}/\xe9.txt'"]),
        (_READ, "\u00e9.txt", ["b'x'", "1"]),
    ],
)
def test_a_process_that_takes_names_otherwise_is_refused(
    tmp_path: Path, code: str, name: str, finds: list[str]
) -> None:
    """In the way that the message names, it gets the name that every other process has."""
    (tmp_path / "\u00e9.txt").write_text("x", "utf-8")
    says = _says(code, tmp_path / name)

    assert len(says) == len(finds)
    for line in says:
        assert line.startswith("SourceError ")
        assert "this process takes names of files as ascii" in line
        assert "start this process with PYTHONUTF8=1" in line
    assert _says(code, tmp_path / name, PYTHONUTF8="1") == [found.format(tmp_path) for found in finds]


def test_plain_names_are_the_same_everywhere(tmp_path: Path) -> None:
    """No locale changes them."""
    (tmp_path / "a.txt").write_text("x", "utf-8")

    assert _says(_LIST, tmp_path) == [f"'file://{tmp_path}/a.txt'"]
