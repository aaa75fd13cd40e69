"""The progress of a group's newest attempt, how fast it reads, and how long the rest takes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from airflow_provider_blockread.ledger.model import Group
from airflow_provider_blockread.ledger.overview.windows import WindowRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How much an attempt has read, and in what time."""

    blocks: int
    bytes: int
    records: int
    bad_records: int
    seconds: float | None  # that it took, or until its counts changed last
    left_s: float | None  # that the rest takes at this rate; None if nothing is being read


def pace_of(group: Group, now: datetime) -> Pace:
    """Return the pace of a group, from its result, or from its attempt's last report."""
    if group.state == "done":
        blocks, read, records, bad = group.planned.blocks, group.bytes, group.records, group.bad_records
    else:
        blocks, read = group.blocks_done, group.bytes_done
        records, bad = group.records_done, group.bad_records_done
    end = group.finished_at if group.state in {"done", "failed"} else group.progress_at or now
    seconds = (end - group.started_at).total_seconds() if end and group.started_at else None
    rest = group.planned.bytes - read if group.state == "running" else None
    left_s = None if rest is None else _rest_s(rest, read, seconds)
    return Pace(blocks=blocks, bytes=read, records=records, bad_records=bad, seconds=seconds, left_s=left_s)


def window_left_s(row: WindowRow) -> float | None:
    """Return about how long the rest of a window takes, at the rate of the groups that are being read, or None."""
    if row.state != "reading":
        return None
    began, reported = row.groups.running_since, row.groups.reported_at
    seconds = (reported - began).total_seconds() if began and reported else None
    return _rest_s(row.window.bytes - row.groups.read_bytes, row.groups.running_bytes, seconds)


def _rest_s(rest: int, read: int, seconds: float | None) -> float | None:
    return max(rest, 0) * seconds / read if read and seconds else None
