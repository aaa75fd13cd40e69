"""Another disk than the one that holds the files of tests."""

from __future__ import annotations

from pathlib import Path

_DISKS = (Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108 - names of our own are made in them


def another_disk(folder: Path) -> Path:
    """Return a folder on another disk than this folder, which every machine with a /dev/shm has."""
    for disk in _DISKS:
        if disk.is_dir() and disk.stat().st_dev != folder.stat().st_dev:
            return disk
    msg = "these tests need a second file system, such as /dev/shm"
    raise RuntimeError(msg)
