"""The first schema. New ledgers are made from the tables, so this revision changes nothing.

Later revisions are beside it, each with the previous one as its `down_revision`. They change only tables: views are
dropped before and created again afterwards.
"""

from __future__ import annotations

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Change nothing."""
