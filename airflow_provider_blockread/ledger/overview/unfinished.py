"""Windows that are not over, found by the indexes of unfinished work: what failed first, then what may have stalled."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Connection, Select, Subquery, case, exists, func, literal, or_, select, union_all

from airflow_provider_blockread.ledger.schema.tables import IS_PLANNING, IS_UNFINISHED, generations, groups, windows

MOST_OPEN = 500
"""Windows that are checked one by one: of each feed on a page of feeds, of all together on the page of health."""

_BROKEN, _AT_WORK, _WAITING = range(3)


def urgent_windows(connection: Connection, feeds: Collection[int] | None, *, each: bool) -> list[str]:
    """Return the ids of at most `MOST_OPEN` unfinished windows of these feeds, or of `each` of them; None for all."""
    found = _ranked()
    since = case((found.c.rank == _WAITING, windows.c.created_at))  # the longer one waits, the more urgent it is
    order = (found.c.rank, found.c.heard_at, since, windows.c.created_at.desc())
    query = select(windows.c.id, windows.c.feed_id).join(found, found.c.window_id == windows.c.id)
    if feeds is not None:
        query = query.where(windows.c.feed_id.in_(feeds))
    if not each:
        return list(connection.scalars(query.order_by(*order).limit(MOST_OPEN)))
    place = func.row_number().over(partition_by=windows.c.feed_id, order_by=order)
    placed = query.add_columns(place.label("place")).subquery()
    return list(connection.scalars(select(placed.c.id).where(placed.c.place <= MOST_OPEN)))


def unfinished_in(query: Select[Any], state: str) -> Select[Any]:
    """Return a query of windows for those whose progress may be in this state."""
    found = _ranked()
    wanted = {"failed": found.c.rank == _BROKEN, "waiting": found.c.rank == _WAITING}
    may_be = wanted.get(state, found.c.heard_at.is_not(None))  # while a group is read, another may have failed
    return query.join(found, found.c.window_id == windows.c.id).where(may_be)


def _ranked() -> Subquery:
    """Return the unfinished windows, how urgent each is, and the oldest sign of life of those at work on it."""
    columns = ("window_id", "number", "error", "publish_owner", "publish_heartbeat_at")
    begun = select(*(generations.c[name] for name in columns)).where(IS_UNFINISHED).subquery("begun")
    mine = (groups.c.window_id == begun.c.window_id, groups.c.generation == begun.c.number)
    failed = exists().where(*mine, groups.c.state == "failed")
    heard_at = select(func.min(groups.c.heartbeat_at)).where(*mine, groups.c.state == "running").scalar_subquery()
    rank = case(
        (begun.c.publish_owner.is_not(None), _AT_WORK),
        (or_(begun.c.error.is_not(None), failed), _BROKEN),
        (heard_at.is_not(None), _AT_WORK),
        else_=_WAITING,
    )
    heard = func.coalesce(begun.c.publish_heartbeat_at, heard_at)
    planned = select(windows.c.id.label("window_id"), literal(_AT_WORK).label("rank"), windows.c.heartbeat_at)
    of_generations = select(begun.c.window_id, rank.label("rank"), heard.label("heard_at"))
    return union_all(of_generations, planned.where(IS_PLANNING)).subquery("unfinished")
