"""Cards of a window and its groups, as the tabs show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.pages.display.failures import failure_of
from airflow_provider_blockread.pages.display.next_actions import NextAction, ways_on
from airflow_provider_blockread.pages.display.paces import Pace, groups_strip, pace_of, window_left_s
from airflow_provider_blockread.pages.display.proofs import Stage, stages_of
from airflow_provider_blockread.pages.display.strips import Segment, Strip, strip
from airflow_provider_blockread.pages.display.troubles import Trouble
from airflow_provider_blockread.pages.display.words import number, share
from airflow_provider_blockread.pages.tabs.run_windows import RunWindow

_WIDEST = 100  # groups that are drawn one by one


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCard:
    """A group, with the progress of its newest attempt."""

    pace: Pace
    bar: Strip
    trouble: Trouble | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCard:
    """A window of a run."""

    found: RunWindow
    stages: list[Stage]
    bar: Strip | None  # of its groups
    trouble: Trouble | None
    ways_on: list[NextAction]
    left_s: float | None  # that the rest takes, while it is being read
    failed_groups: int
    hides_trouble: bool  # something failed, and the visitor may not see records, which errors quote


def group_card(found: RunWindow, group: Group) -> GroupCard:
    """Return the card of a group, as its task's tab shows it."""
    pace, said = pace_of(group, found.env.ledger.now()), group.error if found.reads_records else None
    return GroupCard(
        pace=pace,
        bar=_bar(pace.state, pace.blocks, group.planned.blocks),
        trouble=failure_of(found.env.ledger, found.row, group.error, said).trouble,
    )


def window_card(found: RunWindow, groups: Sequence[Group]) -> WindowCard:
    """Return the card of a window, as its run's tab shows it."""
    row, ledger = found.row, found.env.ledger
    failure = failure_of(ledger, row, row.error, row.error if found.reads_records else None)
    return WindowCard(
        found=found,
        stages=stages_of(row),
        bar=_groups_bar(found, groups),
        trouble=failure.trouble,
        ways_on=ways_on(row, failure.files),
        left_s=window_left_s(row),
        failed_groups=sum(one.state == "failed" for one in groups),
        hides_trouble=bool(row.error) and not found.reads_records,
    )


def _bar(state: str, done: int, of: int) -> Strip:
    label = f"{number(done)} of {plural(of, 'block')}, {share(done, of)} %"
    if state in {"done", "waiting"}:
        return strip([Segment(kind="done" if state == "done" else "planned", label=label)], label)
    if state in {"failed", "stalled"}:
        rest = Segment(kind=state, label=f"{label}, then {state}", weight=max(of - done, 1))
        return strip([Segment(kind="done", label=label, weight=done), rest] if done else [rest], label)
    return strip([Segment(kind=state, label=label, full=min(done / of, 0.999) if of else 0.0)], label)


def _groups_bar(found: RunWindow, groups: Sequence[Group]) -> Strip | None:
    now, row = found.env.ledger.now(), found.row
    if not groups:
        return None
    if len(groups) > _WIDEST:
        return _bar(row.state, row.groups.blocks_done, row.window.blocks)
    name = f"{number(row.groups.done)} of {plural(len(groups), 'group')} read"
    return groups_strip([pace_of(group, now) for group in groups], name)
