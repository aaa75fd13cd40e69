"""Column types of the ledger's tables, and the words its states are made of."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import BigInteger, CheckConstraint, Column, DateTime, Dialect, Integer, String, Text, TypeDecorator

FILE_STATES = ("pending", "planned", "done", "missing", "changed", "quarantined", "ignored", "excluded")
WINDOW_STATES = ("planning", "open", "empty", "abandoned")
GENERATION_STATES = ("reading", "proven", "publishing", "published", "verified", "failed", "superseded")
GENERATION_MODES = ("write", "verify")
GROUP_STATES = ("pending", "running", "done", "failed")


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored as UTC; a naive one is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time in UTC, without its zone where the database has none."""
        if value is None:
            return None
        if value.tzinfo is None:
            msg = f"{value.isoformat()} has no time zone; the ledger stores aware times"
            raise ValueError(msg)
        utc = value.astimezone(UTC)
        return utc.replace(tzinfo=None) if dialect.name == "sqlite" else utc

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002
        """Return the time in UTC, aware."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


# SQLite numbers rows by itself only where the type is exactly INTEGER.
ID = BigInteger().with_variant(Integer(), "sqlite")
# PostgreSQL would sort by the database's locale, and no two ledgers would agree on a plan's order.
PATH = Text().with_variant(Text(collation="C"), "postgresql")
DIGEST = String(32)
WINDOW = String(16)


def one_of(column: str, words: tuple[str, ...]) -> CheckConstraint:
    """Return the constraint that a column holds one of these words."""
    return CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in words)})", name=column)


def count(name: str) -> Column[int]:
    """Return a column that counts from 0."""
    return Column(name, BigInteger, nullable=False, server_default="0")
