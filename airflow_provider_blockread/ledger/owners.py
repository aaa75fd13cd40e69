"""Owners that are processes: what they are called, and how one that died is told from one that lives.

    cli/ann@host/4711/6f1c02d9a3b8-9911223

That is a name, a process, the place where its number has a meaning (one start of a system, one namespace of processes)
and when it began there. Whoever works in the same place knows at once that such an owner is gone, even when its number
was given out again. Any other owner, and one of another place, counts as alive until its heartbeat is stale.
"""

from __future__ import annotations

import os
import re
from datetime import datetime
from functools import cache
from pathlib import Path

from airflow_provider_blockread.blocks.ids import digest

_PROCESS = re.compile(r"/(?P<pid>[1-9]\d{0,8})/(?P<place>[0-9a-f]{12})-(?P<began>\d+)$")
_PLACE_DIGITS = 12
_BEGAN = 19  # the field of a process's statistics that tells when it began, counted from its state


def process_owner(name: str) -> str:
    """Return what this process is called in the ledger; only its heartbeat tells where the system has no `/proc`."""
    began = _began(os.getpid()) if _place() else None
    return f"{name}/{os.getpid()}" + ("" if began is None else f"/{_place()}-{began}")


def is_live(owner: str, heartbeat_at: datetime | None, limit: datetime) -> bool:
    """Tell whether an owner may still be at work: its heartbeat is not before the limit, and it is not known dead."""
    return heartbeat_at is not None and heartbeat_at >= limit and not _is_gone(owner)


def _is_gone(owner: str) -> bool:
    found = _PROCESS.search(owner)
    if found is None or found["place"] != _place():
        return False
    pid = int(found["pid"])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # somebody else's process, about which the system may tell nothing
        return False
    return _began(pid) != found["began"]


def _began(pid: int) -> str | None:
    """Return when a process began, in the system's own ticks; none where it has ended."""
    try:
        # The program's name, in parentheses, may hold anything.
        state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in {"Z", "X"} else fields[_BEGAN - 1]


@cache
def _place() -> str:
    """Return a name for where numbers of processes mean the same as here; empty where that is not known."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return digest("place", start, str(Path("/proc/self/ns/pid").readlink()))[:_PLACE_DIGITS]
    except OSError:
        return ""
