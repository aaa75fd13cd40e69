"""Private temporary folders, which are removed soon after their process has ended, in whatever way."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "blockread-"
_LOCK = "lock"


@contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a new folder that only this user can open, and remove it at the end.

    Folders that killed processes of this user have left behind are removed first. A process holds a lock on its folder,
    which the kernel releases when the process ends.
    """
    remove_abandoned()
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    try:
        lock = os.open(folder / f"{_LOCK}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / f"{_LOCK}.new").rename(folder / _LOCK)  # locked before others see it
            yield folder
        finally:
            os.close(lock)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def private_file(path: Path, content: str | bytes) -> str:
    """Write a new file that only this user can read, and return its path."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return str(path)


def remove_abandoned() -> None:
    """Remove the private folders of this user whose process has ended."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):  # another process removes it, or its owner is running
            _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        return
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(lock)
