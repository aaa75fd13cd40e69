"""Other disks than the one that holds the files of tests, and processes with fewer rights to files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_DISKS = (Path("/var/tmp"), Path("/dev/shm"))  # noqa: S108 - names of our own are made in them


def another_disk(folder: Path) -> Path:
    """Return a folder on another disk than this folder, which every machine with a /dev/shm has."""
    for disk in _DISKS:
        if disk.is_dir() and disk.stat().st_dev != folder.stat().st_dev:
            return disk
    msg = "these tests need a second file system, such as /dev/shm"
    raise RuntimeError(msg)


def run_on_small_disk(folder: Path, size: str, code: str) -> str:
    """Run Python code in a process in which a folder is a disk of its own, of this size; return what it prints."""
    return _run_after(f"mount -t tmpfs -o size={size} none", folder, code)


def run_on_two_mounts(folder: Path, code: str) -> str:
    """Run Python code in a process in which a folder is a second mount of its disk; return what it prints."""
    return _run_after(f"mount --bind '{folder}'", folder, code)


def run_without_rights(code: str) -> str:
    """Run Python code in a process to which a file's mode applies, even if tests run as root; return what it prints."""
    return _printed(["unshare", "--map-user=1000", "--map-group=1000"], code)


def _run_after(mount: str, folder: Path, code: str) -> str:
    """Run Python code in a process with mounts of its own, as any user may have who has a user namespace.

    The process seems to be of an ordinary user, as PostgreSQL must be.
    """
    namespace = [
        "unshare",
        "--map-user=1000",
        "--map-group=1000",
        "--keep-caps",
        "--mount",
        "sh",
        "-c",
        f'{mount} "$0" && exec "$@"',
        str(folder),
    ]
    return _printed(namespace, code)


def _printed(command: list[str], code: str) -> str:
    code += "\nimport os, sys; sys.stdout.flush(); os._exit(0)"  # before threads of libraries that outlive it
    done = subprocess.run(
        [*command, sys.executable, "-c", code], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
