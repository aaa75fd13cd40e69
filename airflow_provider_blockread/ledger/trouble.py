"""What keeps a ledger from working, and what to do about it."""

from __future__ import annotations

from pathlib import Path

#: File systems whose locks do not hold between hosts, so that SQLite would damage its file there.
_SHARED = frozenset(
    {
        *("afs", "beegfs", "ceph", "cifs", "fuse.ceph", "fuse.gcsfuse", "fuse.glusterfs", "fuse.s3fs", "fuse.sshfs"),
        *("glusterfs", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "orangefs", "smb3", "smbfs"),
    }
)
_MOUNTS = Path("/proc/self/mounts")

_FREE_SPACE = "free space on its disk, then retry; what was begun is rolled back"
_NO_RIGHT = "let its user write to all tables of the ledger, then retry"
#: What to do, by the words of SQLite and the states of PostgreSQL.
_REMEDIES = {
    "readonly database": "let the account that runs this write to the file and its folder, then retry",
    "disk is full": _FREE_SPACE,
    "disk I/O error": f"see to its disk ({_FREE_SPACE})",
    "53100": _FREE_SPACE,
    "25006": "it takes no writes: name the primary server, or let its user write, then retry",
    "42501": _NO_RIGHT,
}
#: States of PostgreSQL that tell of the server and not of a mistake in this package, whatever class the driver gives.
OF_THE_SERVER = frozenset({"25006", "42501"})


def remedy(reason: str, state: str | None) -> str:
    """Return what to do about a database's complaint: its words, and PostgreSQL's state where there is one."""
    found = (text for sign, text in _REMEDIES.items() if sign == state or (not state and sign in reason))
    return next(found, "check that it is up and reachable, then retry")


def shared_mount(path: Path) -> str:
    """Return type and place of the network file system that holds a path, such as `nfs4 at /home`; else nothing."""
    if not _MOUNTS.exists():  # only Linux tells
        return ""
    place = path.absolute()
    held = ("/", "")
    for line in _MOUNTS.read_text("utf-8", "replace").splitlines():
        _, mounted, kind, *_ = line.split(" ")
        mounted = mounted.replace("\\040", " ")
        # A later mount on the same place hides an earlier one.
        if place.is_relative_to(mounted) and len(mounted) >= len(held[0]):
            held = (mounted, kind)
    return f"{held[1]} at {held[0]}" if held[1] in _SHARED else ""
