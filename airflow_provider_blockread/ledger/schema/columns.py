"""Column types of the ledger's tables, and the words for states."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    TypeDecorator,
    Uuid,
)
from sqlalchemy.types import TypeEngine

FILE_STATES = ("pending", "planned", "done", "missing", "changed", "quarantined", "ignored", "excluded", "replaced")
TAKEN_STATES = ("done", "quarantined", "excluded", "replaced")
# States in which a newer version may be when a window that has read an earlier one takes it.
REPLACING_STATES = ("pending", "ignored", "missing", "replaced")
WINDOW_STATES = ("planning", "open", "empty", "abandoned")
GENERATION_STATES = ("reading", "proven", "publishing", "published", "verified", "failed", "superseded")
UNFINISHED_STATES = ("reading", "proven", "publishing", "failed")  # a window has at most one such generation
SHOWN_STATES = ("published", "publishing")  # in which readers see something of a generation
GENERATION_MODES = ("write", "verify")
CLEANING_STATES = ("planned", "done", "changed", "gone", "restored")
GROUP_STATES = ("pending", "running", "done", "failed")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored as UTC; a naive one is refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time in UTC, without its zone if the database has no zones."""
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


class Digest(TypeDecorator[str]):
    """32 hex digits, stored in 16 bytes: PostgreSQL's `uuid`, or a blob."""

    impl = Uuid(as_uuid=False)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the database's own type of 16 bytes."""
        return dialect.type_descriptor(LargeBinary(16) if dialect.name == "sqlite" else Uuid(as_uuid=False))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ANN401 - the driver's own
        """Return the digits in the form that the driver needs."""
        return bytes.fromhex(value) if value is not None and dialect.name == "sqlite" else value

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ANN401 - the driver's own
        """Return the 32 digits."""
        if value is None:
            return None
        return str(value.hex()) if dialect.name == "sqlite" else str(value).replace("-", "")


#: Hex digits of a digest that distinguish the versions of one path.
SHORT = 16


def short_number(digest: str) -> int:
    """Return the signed number that represents the first 16 digits of a digest."""
    return int.from_bytes(bytes.fromhex(digest[:SHORT]), "big", signed=True)


def short_text(number: int) -> str:
    """Return the 16 digits that a number represents."""
    return number.to_bytes(8, "big", signed=True).hex()


class ShortDigest(TypeDecorator[str]):
    """The first 16 hex digits of a digest, stored as a signed number; more digits may be given."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> int | None:  # noqa: ARG002
        """Return the number of the first 16 digits."""
        return None if value is None else short_number(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Return the 16 digits."""
        return None if value is None else short_text(value)


# SQLite assigns row numbers only if the type is exactly INTEGER.
ID = BigInteger().with_variant(Integer(), "sqlite")
# PostgreSQL would sort by the database's locale, and ledgers would not agree on a plan's order.
PATH = Text().with_variant(Text(collation="C"), "postgresql")
DIGEST = String(32)
WINDOW = String(16)


def one_of(column: str, words: tuple[str, ...]) -> CheckConstraint:
    """Return the constraint that a column has one of these words."""
    return CheckConstraint(f"{column} IN ({', '.join(repr(word) for word in words)})", name=column)


def count(name: str) -> Column[int]:
    """Return a column that counts from 0."""
    return Column(name, BigInteger, nullable=False, server_default="0")


def of_generation() -> tuple[Column[str], Column[int], ForeignKeyConstraint]:
    """Return the columns of a row's generation, with which its key begins, and the constraint that it is there."""
    window_id = Column("window_id", WINDOW, primary_key=True)
    generation = Column("generation", Integer, primary_key=True, autoincrement=False)
    there = ForeignKeyConstraint(["window_id", "generation"], ["generations.window_id", "generations.number"])
    return window_id, generation, there
