"""Where cases are."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def quick_folder() -> Iterator[Path]:
    """Give a folder in memory where there is one: a process that is killed does not lose what the system holds."""
    memory = Path("/dev/shm")  # noqa: S108 - a name of our own is made in it
    parent = memory if memory.is_dir() and os.access(memory, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="blockread-crash-", dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)
