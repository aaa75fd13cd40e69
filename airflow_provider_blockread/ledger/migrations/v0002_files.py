"""Revision 0002, the part that concerns files: smaller rows, and what is kept of files whose window was pruned."""

from __future__ import annotations

import hashlib
import sqlite3

import sqlalchemy as sa
from alembic import op

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DIGEST = sa.Uuid(as_uuid=False).with_variant(sa.LargeBinary(16), "sqlite")
PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")

_PENDING = sa.text("state = 'pending'")
_HELD = sa.text("window_id IS NOT NULL")
_UNSETTLED = sa.text("state IN ('missing', 'changed', 'ignored')")
_STATES = "'pending', 'planned', 'done', 'missing', 'changed', 'quarantined', 'ignored', 'excluded', 'replaced'"

_KEPT = (
    *("id", "size", "mtime_ns", "part_next_offset", "feed_id", "first_scan", "last_scan"),
    *("state", "window_id", "path", "etag"),
)
_CONVERTED = {
    "sqlite": {"path_digest": "blockread_path(path)", "version_digest": "blockread_number(version_digest)"},
    "postgresql": {
        "path_digest": "CAST("
        "substr(encode(sha256(convert_to(regexp_replace(path, '[^/]*$', ''), 'UTF8')), 'hex'), 1, 8)"
        " || substr(encode(sha256(convert_to(path, 'UTF8')), 'hex'), 1, 24) AS uuid)",
        "version_digest": "CAST(CAST('x' || substr(version_digest, 1, 16) AS bit(64)) AS bigint)",
    },
}

# The sums of a published generation's files move into the files' own rows.
_SHOWN = (
    "FROM generations g WHERE g.window_id = file_sums.window_id AND g.number = file_sums.generation"
    " AND g.state = 'published'"
)
_SUM = (
    "(SELECT {} FROM file_sums WHERE window_id = files_0001.window_id AND file_id = files_0001.id"
    " AND EXISTS (SELECT 1 {}))"
)
_SUMS = {"records": _SUM.format("records", _SHOWN), "bad_records": _SUM.format("nullif(bad_records, 0)", _SHOWN)}


def upgrade() -> None:
    """Rebuild `files` with narrow columns, and create the tables that go with it."""
    op.add_column("windows", sa.Column("interval_start_ns", sa.BigInteger(), nullable=True))
    op.add_column("windows", sa.Column("interval_end_ns", sa.BigInteger(), nullable=True))
    op.add_column("generations", sa.Column("run", sa.Text(), nullable=True))
    op.add_column("generations", sa.Column("manifest_uri", sa.Text(), nullable=True))
    op.add_column("generations", sa.Column("manifest_hash", sa.String(length=128), nullable=True))
    op.add_column("windows", sa.Column("pruned_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("file_sums", sa.Column("next_start", sa.BigInteger(), nullable=True))
    op.add_column("file_sums", sa.Column("exit_state", sa.BigInteger(), nullable=True))
    _set_files_aside()
    _create_files()
    _copy_files()
    _create_indexes()
    _create_taken_files()
    _create_stretches()
    _create_parts()


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _set_files_aside() -> None:
    op.drop_index("ix_files_pending", "files")
    op.drop_index("ix_files_planned", "files")
    op.rename_table("files", "files_0001")
    if not _is_sqlite():  # whose names of keys and sequences belong to the schema, not to the table
        op.drop_constraint("uq_files_feed_id_path_digest_version_digest", "files_0001")
        op.drop_constraint("pk_files", "files_0001")
        op.execute("ALTER SEQUENCE files_id_seq RENAME TO files_0001_id_seq")


def _create_files() -> None:
    op.create_table(
        "files",
        sa.Column("id", ID, nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
        sa.Column("time_ns", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("version_digest", sa.BigInteger(), nullable=False),
        sa.Column("records", sa.BigInteger(), nullable=True),
        sa.Column("bad_records", sa.BigInteger(), nullable=True),
        sa.Column("part_next_offset", sa.BigInteger(), nullable=True),
        sa.Column("feed_id", sa.Integer(), nullable=False),
        sa.Column("first_scan", sa.Integer(), nullable=False),
        sa.Column("last_scan", sa.Integer(), nullable=False),
        sa.Column("path_digest", DIGEST, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("window_id", sa.String(length=16), nullable=True),
        sa.Column("path", PATH, nullable=False),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.CheckConstraint("state <> 'pending' OR window_id IS NULL", name=op.f("ck_files_pending_has_no_window")),
        sa.CheckConstraint("state <> 'planned' OR window_id IS NOT NULL", name=op.f("ck_files_planned_has_window")),
        sa.CheckConstraint(f"state IN ({_STATES})", name=op.f("ck_files_state")),
        sa.CheckConstraint("size >= 0", name=op.f("ck_files_size")),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name="fk_files_feed_id"),
        sa.ForeignKeyConstraint(["window_id"], ["windows.id"], name="fk_files_window_id"),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sa.UniqueConstraint(
            "path_digest", "version_digest", "feed_id", name="uq_files_path_digest_version_digest_feed_id"
        ),
        sqlite_autoincrement=True,
    )


def _copy_files() -> None:
    """Copy the rows, and go on with the ids where they stopped: they are never used again."""
    connection = op.get_bind()
    if _is_sqlite():
        driver = connection.connection.driver_connection
        assert isinstance(driver, sqlite3.Connection)  # noqa: S101 - tells the type
        driver.create_function("blockread_path", 1, _path_digest)
        driver.create_function("blockread_number", 1, _first_half)
    converted = _CONVERTED[connection.dialect.name] | _SUMS
    names, values = ", ".join((*_KEPT, *converted, "time_ns")), ", ".join((*_KEPT, *converted.values(), "mtime_ns"))
    op.execute(f"INSERT INTO files ({names}) SELECT {values} FROM files_0001 ORDER BY id")  # noqa: S608 - constants
    op.execute(f"DELETE FROM file_sums WHERE EXISTS (SELECT 1 {_SHOWN})")  # noqa: S608 - a constant
    if _is_sqlite():
        op.execute("DELETE FROM sqlite_sequence WHERE name = 'files'")
        op.execute("UPDATE sqlite_sequence SET name = 'files' WHERE name = 'files_0001'")
    else:
        op.execute("SELECT setval('files_id_seq', last_value, is_called) FROM files_0001_id_seq")
    op.drop_table("files_0001")


def _path_digest(path: str) -> bytes:
    folder = path[: path.rfind("/") + 1]
    return hashlib.sha256(folder.encode()).digest()[:4] + hashlib.sha256(path.encode()).digest()[:12]


def _first_half(digest: str) -> int:
    return int.from_bytes(bytes.fromhex(digest[:16]), "big", signed=True)


def _create_indexes() -> None:
    op.create_index(
        "ix_files_pending",
        "files",
        ["feed_id", "time_ns", "path", "id"],
        sqlite_where=_PENDING,
        postgresql_where=_PENDING,
    )
    op.create_index("ix_files_unsettled", "files", ["feed_id"], sqlite_where=_UNSETTLED, postgresql_where=_UNSETTLED)
    op.create_index("ix_files_window_id", "files", ["window_id"], sqlite_where=_HELD, postgresql_where=_HELD)


def _create_taken_files() -> None:
    op.create_table(
        "taken_files",
        sa.Column("version_digest", sa.BigInteger(), nullable=False),
        sa.Column("feed_id", sa.Integer(), nullable=False),
        sa.Column("path_digest", DIGEST, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.CheckConstraint(
            "state IN ('done', 'quarantined', 'excluded', 'replaced')", name=op.f("ck_taken_files_state")
        ),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name="fk_taken_files_feed_id"),
        sa.PrimaryKeyConstraint("path_digest", "version_digest", "feed_id", name="pk_taken_files"),
        sqlite_with_rowid=False,
    )


def _create_stretches() -> None:
    op.create_table(
        "stretches",
        sa.Column("feed_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("scan_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name="fk_stretches_feed_id"),
        sa.PrimaryKeyConstraint("digest", "feed_id", name="pk_stretches"),
        sqlite_with_rowid=False,
    )


def _create_parts() -> None:
    op.create_table(
        "parts",
        sa.Column("window_id", sa.String(length=16), nullable=False),
        sa.Column("file_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("part_start", sa.BigInteger(), nullable=False),
        sa.Column("part_end", sa.BigInteger(), nullable=False),
        sa.Column("next_start", sa.BigInteger(), nullable=True),
        sa.Column("exit_state", sa.BigInteger(), nullable=True),
        sa.Column("records", sa.BigInteger(), nullable=True),
        sa.Column("bad_records", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("part_start < part_end", name=op.f("ck_parts_range")),
        sa.ForeignKeyConstraint(["window_id"], ["windows.id"], name="fk_parts_window_id"),
        sa.PrimaryKeyConstraint("window_id", "file_id", name="pk_parts"),
        sa.UniqueConstraint("file_id", "part_start", name="uq_parts_file_id_part_start"),
    )
