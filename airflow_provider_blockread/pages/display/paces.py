"""The progress of groups and their newest attempts, how fast these read, and how long the rest takes."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.overview.windows import WindowRow
from airflow_provider_blockread.ledger.windows.progress import Progress, group_progress
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.pages.display.strips import Segment, Strip, strip


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
    def share(self) -> float:
        """The share of its bytes that is read, from 0 to 1."""
        return 1.0 if self.state == "done" else self.bytes / max(self.group.planned.bytes, 1)

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


def groups_strip(paces: Iterable[Pace], name: str, listed: Collection[int] = ()) -> Strip:
    """Return groups as a strip with widths by bytes; those that are `listed` link to their line on the page."""
    return strip([_segment(one, listed) for one in paces], name)


def _segment(one: Pace, listed: Collection[int]) -> Segment:
    number, planned = one.group.ref.group, one.group.planned
    label = f"group {number}: {one.state}, {one.blocks:,} of {plural(planned.blocks, 'block')}"
    label += f", {format_bytes(planned.bytes)}, {plural(one.records, 'record')}"
    return Segment(
        kind=one.state,
        label=f"{label}, {plural(one.bad_records, 'bad record')}" if one.bad_records else label,
        weight=max(planned.bytes, 1),
        href=f"#group-{number}" if number in listed else None,
        full=min(one.share, 0.999) if one.state == "reading" else 1.0,
        tick=one.bad_records > 0,
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
