"""Owners that are processes: their names, and which of them have ended.

    cli/ann@host/4711/6f1c02d9a3b8-9911223

A name has a label, a process id, the place where that id is valid (one boot of a system, one namespace of processes)
and the process's start time. In the same place the end of the process is detected at once, even if its id was reused.
An owner with another form of name, or in another place, counts as alive until its heartbeat is stale.
"""

from __future__ import annotations

import getpass
import os
import re
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

from airflow_provider_blockread.blocks.ids import digest

#: Seconds without a heartbeat after which a planner or publisher counts as dead; a group's claim has its own limit.
STALE_S = 120.0
#: How far a clock may be ahead of another one; a later heartbeat is of a clock that was wrong, and shows no life.
_AHEAD = timedelta(hours=1)

_PROCESS = re.compile(r"/(?P<pid>[1-9]\d{0,8})/(?P<place>[0-9a-f]{12})-(?P<began>\d+)$")
_PLACE_DIGITS = 12
_BEGAN = 19  # the field of a process's statistics with its start time, counted after its state


def user() -> str:
    """Return the name of the user who runs this process, or its number where the system has no name for it."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # as in a container that runs with any uid
        return f"uid-{os.getuid()}"


def process_owner(name: str) -> str:
    """Return this process's name in the ledger; without `/proc`, only its heartbeat shows that it is alive."""
    began = _began(os.getpid()) if _place() else None
    return f"{name}/{os.getpid()}" + ("" if began is None else f"/{_place()}-{began}")


def is_live(owner: str | None, heartbeat_at: datetime | None, now: datetime, stale_after_s: float = STALE_S) -> bool:
    """Return whether an owner may be at work: its heartbeat is recent, and its process is not known to have ended."""
    if owner is None or heartbeat_at is None:
        return False
    return now - timedelta(seconds=stale_after_s) <= heartbeat_at <= now + _AHEAD and not _is_gone(owner)


def _is_gone(owner: str) -> bool:
    found = _PROCESS.search(owner)
    if found is None or found["place"] != _place():
        return False
    pid = int(found["pid"])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # another user's process, which the system may not show
        return False
    return _began(pid) != found["began"]


def _began(pid: int) -> str | None:
    """Return when a process began, in the system's own ticks, or None if it has ended."""
    try:
        # The program's name, in parentheses, may contain any characters.
        state, *fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if state in {"Z", "X"} else fields[_BEGAN - 1]


@cache
def _place() -> str:
    """Return a name for the place in which process ids have the same meaning as here; empty if this is not known."""
    try:
        start = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
        return digest("place", start, str(Path("/proc/self/ns/pid").readlink()))[:_PLACE_DIGITS]
    except OSError:
        return ""
