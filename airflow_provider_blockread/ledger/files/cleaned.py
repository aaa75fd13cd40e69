"""Files that cleaning has removed from the source, and that must be back before a window can be read again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, func, select, union

from airflow_provider_blockread.errors import CleanedError
from airflow_provider_blockread.ledger.schema.file_tables import parts
from airflow_provider_blockread.ledger.schema.rows import value_from
from airflow_provider_blockread.ledger.schema.tables import files
from airflow_provider_blockread.ledger.schema.upkeep_tables import cleanings
from airflow_provider_blockread.ledger.store import Ledger

#: Files that a message names.
SHOWN = 3
_AWAY = and_(cleanings.c.action.in_(("archive", "delete")), cleanings.c.state.in_(("planned", "done")))


@dataclass(frozen=True, slots=True, kw_only=True)
class AwayFile:
    """A file that was archived or deleted, or is about to be."""

    file: int
    path: str
    version_digest: str  # its first 16 digits
    target: str | None  # where it was archived; None if it was deleted


def count_away(ledger: Ledger, window_id: str) -> int:
    """Return how many files of a window were archived or deleted."""
    with ledger.reading() as connection:
        return _count(connection, window_id)


def files_away(ledger: Ledger, window_id: str, *, after: int, limit: int) -> list[AwayFile]:
    """Return the files of a window that were archived or deleted, by id: up to `limit` files after the id `after`."""
    query = select(cleanings).where(_of_window(window_id), cleanings.c.file_id > after)
    with ledger.reading() as connection:
        rows = connection.execute(query.order_by(cleanings.c.file_id).limit(limit)).all()
    return [value_from(AwayFile, row, {"file": row.file_id}) for row in rows]


def mark_back(ledger: Ledger, files: Collection[int]) -> None:
    """Record that these files are back in their places, unchanged, and may be cleaned later. May be repeated."""
    with ledger.writing() as connection:
        change = {"state": "restored", "finished_at": ledger.now()}
        connection.execute(cleanings.update().where(cleanings.c.file_id.in_(files), _AWAY).values(change))


def refuse_cleaned(connection: Connection, window_id: str, *, unneeded: int = 0) -> None:
    """Refuse to read a window again if its files were cleaned, in the transaction that would begin the new read.

    Args:
        connection: a transaction that has locked the window's row, which cleaning locks, too.
        window_id: the window's id.
        unneeded: how many of its files were cleaned from the source but are not needed.

    Raises:
        CleanedError: when other files of the window were cleaned.
    """
    found = _count(connection, window_id)
    if found > unneeded:
        query = select(cleanings).where(_of_window(window_id)).order_by(cleanings.c.file_id).limit(SHOWN)
        rows = connection.execute(query).all()
        away = [value_from(AwayFile, row, {"file": row.file_id}) for row in rows]
        raise CleanedError(describe_away(window_id, away, found - unneeded))


def describe_away(window_id: str, away: Sequence[AwayFile], count: int) -> str:
    """Return the text of the error: which files are missing, where they are, and what to do."""
    named = "; ".join(
        f"{file.path} ({f'archived to {file.target}' if file.target else 'deleted'})" for file in away[:SHOWN]
    )
    more = " and more" if count > SHOWN else ""
    return (
        f"window {window_id}: {count:,} of its files were cleaned from the source, and it cannot be read again without"
        f" them: {named}{more}. Restore them unchanged (archived ones by `blockread clean --restore {window_id}`,"
        " others from a backup), then repeat this; nothing was changed"
    )


def _count(connection: Connection, window_id: str) -> int:
    return int(connection.execute(select(func.count()).where(_of_window(window_id))).scalar_one())


def _of_window(window_id: str) -> ColumnElement[bool]:
    # Not joined by OR, for which PostgreSQL would read all cleanings of the ledger.
    whole = select(cleanings.c.file_id).where(cleanings.c.window_id == window_id)
    mine = cleanings.c.file_id.in_(union(whole, select(parts.c.file_id).where(parts.c.window_id == window_id)))
    replaced = select(files.c.id).where(files.c.window_id == window_id, files.c.state == "replaced")
    return and_(_AWAY, mine, cleanings.c.file_id.not_in(replaced))
