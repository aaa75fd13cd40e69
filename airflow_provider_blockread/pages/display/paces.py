"""The progress of groups and their newest attempts, how fast these read, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.ledger.windows.progress import Progress, group_progress
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.pages.display.strips import Segment, Strip, strip, worst

_DRAWN = 400  # segments of a strip


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A group, and how much its newest attempt has read in what time."""

    group: Group
    progress: Progress
    blocks: int
    bytes: int
    records: int
    bad_records: int
    seconds: float | None  # that it took, or until its counts changed last

    @property
    def state(self) -> str:
        """The progress of the group in one word."""
        return self.progress.state

    @property
    def left_s(self) -> float | None:
        """How long the rest takes at this rate; None if nothing is being read."""
        rest = self.group.planned.bytes - self.bytes
        return _rest_s(rest, self.bytes, self.seconds) if self.group.state == "running" else None


def pace_of(group: Group, now: datetime) -> Pace:
    """Return the pace of a group, from its result, or from its attempt's last report."""
    if group.state == "done":
        blocks, read, records, bad = group.planned.blocks, group.bytes, group.records, group.bad_records
    else:
        blocks, read = group.blocks_done, group.bytes_done
        records, bad = group.records_done, group.bad_records_done
    end = group.finished_at if group.state in {"done", "failed"} else group.progress_at or now
    return Pace(
        group=group,
        progress=group_progress(group, now),
        blocks=blocks,
        bytes=read,
        records=records,
        bad_records=bad,
        seconds=(end - group.started_at).total_seconds() if end and group.started_at else None,
    )


def groups_strip(paces: Sequence[Pace], name: str, listed: Collection[int] = ()) -> Strip:
    """Return groups as a strip with widths by bytes; those that are `listed` link to their line on the page.

    Of many groups, a segment shows several that follow each other, and links to the first of them that is listed.
    """
    each = -(-len(paces) // _DRAWN)
    return strip([_segment(paces[start : start + each], listed) for start in range(0, len(paces), each)], name)


def _segment(some: Sequence[Pace], listed: Collection[int]) -> Segment:
    numbers = [one.group.ref.group for one in some]
    state = worst(one.state for one in some)
    blocks, records, bad = (sum(getattr(one, name) for one in some) for name in ("blocks", "records", "bad_records"))
    planned, read = sum(one.group.planned.bytes for one in some), sum(one.bytes for one in some)
    label = f"group {numbers[0]}" if len(some) == 1 else f"groups {numbers[0]} to {numbers[-1]}"
    label += f": {state}, {blocks:,} of {plural(sum(one.group.planned.blocks for one in some), 'block')}"
    label += f", {format_bytes(planned)}, {plural(records, 'record')}"
    return Segment(
        kind=state,
        label=f"{label}, {plural(bad, 'bad record')}" if bad else label,
        weight=max(planned, 1),
        href=next((f"#group-{number}" for number in numbers if number in listed), None),
        full=min(read / max(planned, 1), 0.999) if state == "reading" else 1.0,
        tick=bad > 0,
    )


def window_left_s(row: WindowRow) -> float | None:
    """Return about how long the rest of a window takes, at the rate of the groups that are being read, or None."""
    if row.state != "reading":
        return None
    began, reported = row.groups.running_since, row.groups.reported_at
    seconds = (reported - began).total_seconds() if began and reported else None
    return _rest_s(row.window.bytes - row.groups.read_bytes, row.groups.running_bytes, seconds)


def _rest_s(rest: int, read: int, seconds: float | None) -> float | None:
    return max(rest, 0) * seconds / read if read and seconds else None
