"""Another disk than the one that holds the files of tests."""

from __future__ import annotations

from pathlib import Path

import pytest

_DISKS = (Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108 - names of our own are made in them


def another_disk(folder: Path) -> Path:
    """Return a folder on another disk than this folder; skip the test on a machine with one disk only."""
    for disk in _DISKS:
        if disk.is_dir() and disk.stat().st_dev != folder.stat().st_dev:
            return disk
    return pytest.skip("this machine has one disk only")
