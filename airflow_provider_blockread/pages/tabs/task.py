"""The tab of a task instance: the group that it reads, or the window that it plans or publishes."""

from __future__ import annotations

from typing import NamedTuple

from starlette.responses import Response

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.overview.windows import viewed_groups
from airflow_provider_blockread.pages.display.proofs import MOVING
from airflow_provider_blockread.pages.site import TaskId, task_of
from airflow_provider_blockread.pages.tabs.cards import group_card, window_card
from airflow_provider_blockread.pages.tabs.run_windows import RunWindow, airflow_ids, may_plan, run_windows
from airflow_provider_blockread.pages.visit import Visit


class _Found(NamedTuple):
    """The window that a task works on, and the group that it reads, if it reads one."""

    window: RunWindow
    groups: list[Group]
    group: Group | None
    is_its_own: bool  # it planned the window or reads the group, rather than a task near it


def show(visit: Visit) -> Response:
    """Return the page."""
    return visit.page("tabs/task.html", _values(visit))


def live(visit: Visit) -> Response:
    """Return the same as JSON, for a page that already shows it."""
    return visit.live("tabs/work.html", _values(visit))


def _values(visit: Visit) -> dict[str, object]:
    ids = airflow_ids(visit)
    windows, problems = run_windows(visit, ids)
    found = _found(windows, ids)
    group = None if found is None or found.group is None else group_card(found.window, found.group)
    window = None if found is None else window_card(found.window, found.groups)
    state = (group.pace.state if group else window.found.row.state) if window else ""
    return {
        "ids": ids,
        "group": group,
        "window": window,
        "is_its_own": found is not None and found.is_its_own,
        "has_windows": bool(windows),
        "problems": problems,
        "moving": state in MOVING if window else may_plan(visit, ids),
        "state": state,
    }


def _found(windows: list[RunWindow], ids: TaskId) -> _Found | None:
    """Return what a task instance works on, by the names of tasks in the ledger, or None.

    A task that has not begun is not in any ledger. It is near the window that a task of its own task group has
    planned. If it is the task that reads, its map index is the number of its group.
    """
    listed = [(one, viewed_groups(one.env.ledger, one.row)) for one in windows]
    for one, groups in listed:
        mine = next((group for group in groups if group.owner == ids.owner), None)
        if mine is not None:
            return _Found(one, groups, mine, is_its_own=True)
    task_group = ids.task.rpartition(".")[0]
    near = ((one, groups) for one, groups in listed if one.planner.rpartition(".")[0] == task_group)
    found = next(near, None)
    if found is None:
        return None
    one, groups = found
    readers = {task.task for group in groups if (task := task_of(group.owner or ""))} or {f"{task_group}.read"}
    mapped = ids.map_index if ids.task in readers else -1
    group = next((group for group in groups if group.ref.group == mapped), None)
    return _Found(one, groups, group, is_its_own=group is not None or ids.task == one.planner)
