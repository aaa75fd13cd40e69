"""Problems of a ledger's database, and what to do about them."""

from __future__ import annotations

import re
from pathlib import Path

#: File systems whose locks do not work between hosts, so that SQLite would damage its file there.
_SHARED = frozenset(
    {
        *("afs", "beegfs", "ceph", "cifs", "drvfs", "fuse.blobfuse", "fuse.blobfuse2", "fuse.ceph"),
        *("fuse.ceph-fuse", "fuse.gcsfuse", "fuse.glusterfs", "fuse.goofys", "fuse.juicefs", "fuse.mount-s3"),
        *("fuse.rclone", "fuse.s3fs", "fuse.sshfs", "fuse.vmhgfs-fuse", "gfs2", "glusterfs", "gpfs", "lustre", "ncpfs"),
        *("nfs", "nfs4", "ocfs2", "orangefs", "pvfs2", "smb3", "smbfs", "vboxsf", "wekafs"),
    }
)
_MOUNTS = Path("/proc/self/mounts")

_FREE_SPACE = "free space on its disk, then retry; what was begun is rolled back"
_ROOM = "a place of its own: another file, or in PostgreSQL another database or schema"
_IDS = "pk_(feeds|files|listings|requests)"  # constraints on ids that sequences give
#: What to do, by PostgreSQL's state and the words of either database; the first match counts.
_REMEDIES = {
    r"readonly database": "let the account that runs this write to the file, to those named as it is with -wal or -shm,"
    " and to their folder, then retry",
    r"disk is full|^53100": _FREE_SPACE,
    r"disk I/O error": f"check its disk ({_FREE_SPACE})",
    r"unable to open": "name a file in a folder that is there, and let the account that runs this open it, and write to"
    " its folder, as SQLite does even to read, then retry",
    r"is locked": "another process has held the lock for too long; wait until it ends, then retry",
    r"is not a database": f"this file is something else: give the ledger {_ROOM}",
    r"is malformed|malformed database": "its file is damaged: restore it from a backup",
    r"^(42P05|26000)": "its pooler hands one connection to several sessions: add `prepare_threshold=none` to its URL's"
    " parameters, then retry",
    r"unsupported startup parameter": "its pooler does not take this: leave `options` out of its URL, and set them for"
    " its user instead (`ALTER ROLE ... SET search_path TO ...`), then retry",
    f"^23505.*{_IDS}": "its sequences are behind its tables, as in a copy by logical"
    " replication: for each of feeds, files, listings and requests run `SELECT setval(pg_get_serial_sequence('files',"
    " 'id'), max(id)) FROM files`, then retry",
    r"already exists": f"other tables there have the same names: give the ledger {_ROOM}",
    r"^25006": "it is read-only: name the primary server, or allow its user to write, then retry",
    r"row-level security": "let its user pass it by (`ALTER ROLE ... BYPASSRLS`), or turn it off for the tables of the"
    " ledger (`ALTER TABLE ... DISABLE ROW LEVEL SECURITY`), then retry",
    r"^42501.*for schema": "let its user in (`GRANT USAGE, CREATE ON SCHEMA ... TO ...`), then retry",
    r"^42501": "let its user write to all tables of the ledger, and use its sequences (`GRANT USAGE ON ALL SEQUENCES IN"
    " SCHEMA ... TO ...`), then retry",
    r"^3F000": "create the schema that its user's search_path names (`CREATE SCHEMA ...`), then retry",
    r'database ".*" does not exist': "create it (`CREATE DATABASE ...`), then run `blockread db upgrade --state URL`",
    r'role ".*" does not exist': "create its user (`CREATE ROLE ... LOGIN`), or name another, then retry",
    r"authentication failed|no password supplied": "correct the user or the password in its URL, then retry",
    r"^53300|too many (clients|connections)|connection slots": "run fewer tasks at once, or raise its max_connections",
    r"query_wait_timeout|max_client_conn": "run fewer tasks at once, or let its pooler have more connections"
    " (PgBouncer: `default_pool_size` and `max_client_conn`), then retry",
    r"^25P0[34]|idle transaction timeout": "its transactions last longer than they may; let them last longer"
    " (`ALTER ROLE ... SET idle_in_transaction_session_timeout ...`, or the timeout that it names), then retry",
    r"^54000": "a path, or the name of a feed or a window, is longer than its indexes hold, about 2,700 bytes; shorten"
    " it, or exclude the file by a pattern",
    r"^22P05": "the encoding of its database lacks a character of a name: copy the ledger (`blockread db copy`) into a"
    " database that is created with ENCODING 'UTF8', and use that one",
    r"^(55P03|40P01)": "other sessions held its locks for too long; wait until they end (pg_stat_activity), then retry",
    # The words differ by the server's language.
    r"^57014": "a statement took longer than its user may, or an administrator ended it; let the user take longer"
    " (`ALTER ROLE ... SET statement_timeout ...`), then retry",
}
#: Problems that persist until a person acts.
_LASTING = re.compile(
    "is not a database|is malformed|malformed database|prepared statement|already exists|exceeds btree|no equivalent"
    f"|unsupported startup parameter|{_IDS}"
)
#: States of PostgreSQL that mean a problem of the server, not a mistake in this package, whatever the driver's class.
OF_THE_SERVER = frozenset(
    {"0A000", "22P05", "23505", "25006", "25P03", "25P04", "3F000", "42501", "42710", "42P05", "42P07"}
)

_NO_TABLE = ("no such table", "no such column")  # SQLite's words
_NO_TABLE_STATES = {"42P01", "42703"}  # PostgreSQL's states: undefined table, undefined column


def on_one_line(error: BaseException | None) -> str:
    """Return what a driver says, without the statement, which PostgreSQL quotes."""
    return " ".join(str(error).partition("\nLINE ")[0].split())


def lacks_table(reason: str, state: str | None) -> bool:
    """Return whether a table or a column is missing, according to a reason and a state of PostgreSQL."""
    return state in _NO_TABLE_STATES or reason.startswith(_NO_TABLE)


def repeats_id(reason: str) -> bool:
    """Return whether a row was to get the id of another one, which only a sequence does that is behind its table."""
    return re.search(_IDS, reason) is not None


def remedy(reason: str, state: str | None) -> str:
    """Return what to do about a database's error, given by its words and, for PostgreSQL, its state."""
    found = (text for sign, text in _REMEDIES.items() if re.search(sign, f"{state or ''} {reason}".lstrip()))
    return next(found, "check that it is up and reachable, then retry")


def is_lasting(reason: str) -> bool:
    """Return whether a retry cannot help."""
    return _LASTING.search(reason) is not None


def shared_mount(path: Path) -> str:
    """Return the type and place of the network file system of a path, such as `nfs4 at /home`, or an empty string."""
    if not _MOUNTS.exists():  # only Linux has them
        return ""
    place = path.resolve()
    held = ("/", "")
    for line in _MOUNTS.read_text("utf-8", "replace").splitlines():
        _, mounted, kind, *_ = line.split(" ")
        mounted = mounted.replace("\\040", " ")
        # A later mount on the same place hides an earlier one.
        if place.is_relative_to(mounted) and len(mounted) >= len(held[0]):
            held = (mounted, kind)
    return f"{held[1]} at {held[0]}" if held[1] in _SHARED else ""
