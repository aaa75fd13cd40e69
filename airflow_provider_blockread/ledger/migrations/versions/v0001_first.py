"""The first schema."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
PATH = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
WINDOW = sa.String(length=16)


def upgrade() -> None:
    """Create the tables."""
    _create_feeds()
    _create_ledger()
    _create_scans()
    _create_windows()
    _create_exclusions()
    _create_files()
    _create_generations()
    _create_file_sums()
    _create_groups()
    _create_publications()


def _count(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), server_default="0", nullable=False)


def _of_generation(name: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["window_id", "generation"], ["generations.window_id", "generations.number"], name=name
    )


def _create_feeds() -> None:
    op.create_table(
        "feeds",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_feeds"),
        sa.UniqueConstraint("name", name="uq_feeds_name"),
        sqlite_autoincrement=True,
    )


def _create_ledger() -> None:
    op.create_table(
        "ledger",
        sa.Column("uuid", sa.String(length=36), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("singleton", sa.Integer(), nullable=False),
        sa.CheckConstraint("singleton = 1", name=op.f("ck_ledger_singleton")),
        sa.PrimaryKeyConstraint("uuid", name="pk_ledger"),
        sa.UniqueConstraint("singleton", name="uq_ledger_singleton"),
    )


def _create_scans() -> None:
    op.create_table(
        "scans",
        sa.Column("id", ID, nullable=False),
        sa.Column("feed_id", ID, nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        _count("seen"),
        _count("new"),
        _count("modified"),
        _count("ignored"),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name="fk_scans_feed_id"),
        sa.PrimaryKeyConstraint("id", name="pk_scans"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_scans_feed_id", "scans", ["feed_id"], unique=False)


def _create_windows() -> None:
    op.create_table(
        "windows",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("feed_id", ID, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("heartbeat_at", TIME, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("manifest_uri", sa.Text(), server_default="", nullable=False),
        sa.Column("manifest_hash", sa.String(length=128), server_default="", nullable=False),
        _count("files"),
        _count("blocks"),
        _count("groups"),
        _count("bytes"),
        sa.CheckConstraint("state <> 'open' OR manifest_uri <> ''", name=op.f("ck_windows_open_has_manifest")),
        sa.CheckConstraint("state IN ('planning', 'open', 'empty', 'abandoned')", name=op.f("ck_windows_state")),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name="fk_windows_feed_id"),
        sa.PrimaryKeyConstraint("id", name="pk_windows"),
        sa.UniqueConstraint("feed_id", "key", name="uq_windows_feed_id_key"),
        sa.UniqueConstraint("feed_id", "sequence", name="uq_windows_feed_id_sequence"),
    )


def _create_exclusions() -> None:
    op.create_table(
        "exclusions",
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("file_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("path", PATH, nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("excluded_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["window_id"], ["windows.id"], name="fk_exclusions_window_id"),
        sa.PrimaryKeyConstraint("window_id", "file_id", name="pk_exclusions"),
    )


def _create_files() -> None:
    op.create_table(
        "files",
        sa.Column("id", ID, nullable=False),
        sa.Column("feed_id", ID, nullable=False),
        sa.Column("path", PATH, nullable=False),
        sa.Column("path_digest", sa.String(length=32), nullable=False),
        sa.Column("version_digest", sa.String(length=32), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("mtime_ns", sa.BigInteger(), nullable=False),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("window_id", sa.String(length=16), nullable=True),
        sa.Column("first_scan", sa.BigInteger(), nullable=False),
        sa.Column("last_scan", sa.BigInteger(), nullable=False),
        sa.Column("discovered_at", TIME, nullable=False),
        sa.Column("part_next_offset", sa.BigInteger(), nullable=True),
        sa.Column("part_state", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("state <> 'pending' OR window_id IS NULL", name=op.f("ck_files_pending_has_no_window")),
        sa.CheckConstraint("state <> 'planned' OR window_id IS NOT NULL", name=op.f("ck_files_planned_has_window")),
        sa.CheckConstraint(
            "state IN ('pending', 'planned', 'done', 'missing', 'changed', 'quarantined', 'ignored', 'excluded')",
            name=op.f("ck_files_state"),
        ),
        sa.CheckConstraint("size >= 0", name=op.f("ck_files_size")),
        sa.ForeignKeyConstraint(["feed_id"], ["feeds.id"], name="fk_files_feed_id"),
        sa.ForeignKeyConstraint(["window_id"], ["windows.id"], name="fk_files_window_id"),
        sa.PrimaryKeyConstraint("id", name="pk_files"),
        sa.UniqueConstraint(
            "feed_id", "path_digest", "version_digest", name="uq_files_feed_id_path_digest_version_digest"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_files_pending",
        "files",
        ["feed_id", "mtime_ns", "path", "id"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_files_planned",
        "files",
        ["window_id"],
        unique=False,
        sqlite_where=sa.text("state = 'planned'"),
        postgresql_where=sa.text("state = 'planned'"),
    )


def _create_generations() -> None:
    op.create_table(
        "generations",
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("mode", sa.String(length=16), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("options_digest", sa.String(length=32), nullable=False),
        sa.Column("clear_number", sa.Integer(), nullable=False),
        _count("publish_epoch"),
        sa.Column("publish_owner", sa.Text(), nullable=True),
        sa.Column("publish_heartbeat_at", TIME, nullable=True),
        _count("records"),
        _count("bad_records"),
        _count("skipped_records"),
        _count("rows"),
        _count("bytes"),
        sa.Column("digest", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("proven_at", TIME, nullable=True),
        sa.Column("published_at", TIME, nullable=True),
        sa.CheckConstraint("mode = 'verify' OR state <> 'verified'", name=op.f("ck_generations_write_is_published")),
        sa.CheckConstraint(
            "mode = 'write' OR state NOT IN ('publishing', 'published')",
            name=op.f("ck_generations_verify_writes_nothing"),
        ),
        sa.CheckConstraint("mode IN ('write', 'verify')", name=op.f("ck_generations_mode")),
        sa.CheckConstraint(
            "state IN ('reading', 'proven', 'publishing', 'published', 'verified', 'failed', 'superseded')",
            name=op.f("ck_generations_state"),
        ),
        sa.ForeignKeyConstraint(["window_id"], ["windows.id"], name="fk_generations_window_id"),
        sa.PrimaryKeyConstraint("window_id", "number", name="pk_generations"),
    )
    op.create_index(
        "uq_generations_published",
        "generations",
        ["window_id"],
        unique=True,
        sqlite_where=sa.text("state = 'published'"),
        postgresql_where=sa.text("state = 'published'"),
    )
    op.create_index(
        "uq_generations_unfinished",
        "generations",
        ["window_id"],
        unique=True,
        sqlite_where=sa.text("state IN ('reading', 'proven', 'publishing', 'failed')"),
        postgresql_where=sa.text("state IN ('reading', 'proven', 'publishing', 'failed')"),
    )


def _create_file_sums() -> None:
    op.create_table(
        "file_sums",
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("file_id", sa.BigInteger(), autoincrement=False, nullable=False),
        _count("records"),
        _count("bad_records"),
        _count("bytes"),
        _of_generation("fk_file_sums_window_id_generation"),
        sa.PrimaryKeyConstraint("window_id", "generation", "file_id", name="pk_file_sums"),
        sqlite_with_rowid=False,
    )


def _create_groups() -> None:
    op.create_table(
        "groups",
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        _count("epoch"),
        sa.Column("owner", sa.Text(), nullable=True),
        sa.Column("heartbeat_at", TIME, nullable=True),
        sa.Column("clear_number", sa.Integer(), nullable=False),
        sa.Column("files", sa.BigInteger(), nullable=False),
        sa.Column("blocks", sa.BigInteger(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("first_path", PATH, nullable=False),
        sa.Column("last_path", PATH, nullable=False),
        _count("records"),
        _count("bad_records"),
        _count("rows"),
        _count("read_bytes"),
        sa.Column("result_uri", sa.Text(), nullable=True),
        sa.Column("result_hash", sa.String(length=128), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("finished_at", TIME, nullable=True),
        sa.CheckConstraint("state <> 'done' OR result_uri IS NOT NULL", name=op.f("ck_groups_done_has_result")),
        sa.CheckConstraint(
            "state <> 'running' OR (owner IS NOT NULL AND heartbeat_at IS NOT NULL)",
            name=op.f("ck_groups_running_has_owner"),
        ),
        sa.CheckConstraint("state IN ('pending', 'running', 'done', 'failed')", name=op.f("ck_groups_state")),
        _of_generation("fk_groups_window_id_generation"),
        sa.PrimaryKeyConstraint("window_id", "generation", "number", name="pk_groups"),
    )


def _create_publications() -> None:
    op.create_table(
        "publications",
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("rows", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.CheckConstraint("action IN ('add', 'remove')", name=op.f("ck_publications_action")),
        sa.CheckConstraint("state IN ('planned', 'done')", name=op.f("ck_publications_state")),
        _of_generation("fk_publications_window_id_generation"),
        sa.PrimaryKeyConstraint("window_id", "generation", "seq", name="pk_publications"),
    )
