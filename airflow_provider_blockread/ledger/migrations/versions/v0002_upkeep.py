"""Withdrawn windows, commands that go over many windows, and files cleaned from the source."""

from __future__ import annotations

import secrets

import sqlalchemy as sa
from alembic import op

from airflow_provider_blockread.ledger.migrations import v0002_files, v0002_views

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
WINDOW = sa.String(length=16)


def upgrade() -> None:
    """Narrow the files' rows, and add the tables."""
    v0002_files.upgrade()
    op.add_column("ledger", sa.Column("secret", sa.String(length=64), nullable=True))
    op.execute(sa.text("UPDATE ledger SET secret = :secret").bindparams(secret=secrets.token_hex(32)))
    op.add_column("exclusions", sa.Column("generation", sa.Integer(), nullable=True))
    op.add_column("groups", sa.Column("stale_after_s", sa.Double(), nullable=False, server_default="120"))
    op.add_column("scans", sa.Column("source", sa.JSON(), nullable=True))
    _create_withdrawals()
    _create_requests()
    _create_replacements()
    _create_cleanings()
    v0002_views.upgrade()


def _create_withdrawals() -> None:
    op.create_table(
        "withdrawals",
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("files", sa.String(length=16), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("began_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.CheckConstraint("files IN ('pending', 'excluded')", name=op.f("ck_withdrawals_files")),
        sa.ForeignKeyConstraint(["window_id"], ["windows.id"], name="fk_withdrawals_window_id"),
        sa.PrimaryKeyConstraint("window_id", name="pk_withdrawals"),
    )


def _create_requests() -> None:
    op.create_table(
        "requests",
        sa.Column("id", ID, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("began_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.CheckConstraint("action IN ('rebuild', 'reprocess')", name=op.f("ck_requests_action")),
        sa.PrimaryKeyConstraint("id", name="pk_requests"),
        sqlite_autoincrement=True,
    )
    is_open = sa.text("finished_at IS NULL")
    op.create_index(
        "uq_requests_open", "requests", ["digest"], unique=True, sqlite_where=is_open, postgresql_where=is_open
    )
    op.create_table(
        "request_generations",
        sa.Column("request_id", ID, nullable=False),
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(["request_id"], ["requests.id"], name="fk_request_generations_request_id"),
        sa.ForeignKeyConstraint(["window_id"], ["windows.id"], name="fk_request_generations_window_id"),
        sa.PrimaryKeyConstraint("request_id", "window_id", "generation", name="pk_request_generations"),
    )


def _create_replacements() -> None:
    op.create_table(
        "replacements",
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("generation", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("old_file", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("new_file", sa.BigInteger(), nullable=False),
        sa.Column("was", sa.String(length=16), nullable=False),
        sa.CheckConstraint("was IN ('pending', 'ignored', 'missing', 'replaced')", name=op.f("ck_replacements_was")),
        sa.ForeignKeyConstraint(
            ["window_id", "generation"],
            ["generations.window_id", "generations.number"],
            name="fk_replacements_window_id_generation",
        ),
        sa.PrimaryKeyConstraint("window_id", "generation", "old_file", name="pk_replacements"),
        sa.UniqueConstraint(
            "window_id", "generation", "new_file", name="uq_replacements_window_id_generation_new_file"
        ),
    )


def _create_cleanings() -> None:
    op.create_table(
        "cleanings",
        sa.Column("file_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("version_digest", sa.BigInteger(), nullable=False),
        sa.Column("window_id", WINDOW, nullable=False),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("path", v0002_files.PATH, nullable=False),
        sa.Column("target", sa.Text(), nullable=True),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("began_at", TIME, nullable=False),
        sa.Column("finished_at", TIME, nullable=True),
        sa.CheckConstraint("action IN ('archive', 'delete', 'tag')", name=op.f("ck_cleanings_action")),
        sa.CheckConstraint("action <> 'archive' OR target IS NOT NULL", name=op.f("ck_cleanings_archive_has_target")),
        sa.CheckConstraint("state = 'planned' OR finished_at IS NOT NULL", name=op.f("ck_cleanings_finished")),
        sa.CheckConstraint(
            "state IN ('planned', 'done', 'changed', 'gone', 'restored')", name=op.f("ck_cleanings_state")
        ),
        sa.ForeignKeyConstraint(["window_id"], ["windows.id"], name="fk_cleanings_window_id"),
        sa.PrimaryKeyConstraint("file_id", name="pk_cleanings"),
    )
    op.create_index("ix_cleanings_window_id", "cleanings", ["window_id"])
