"""Short ways to a ledger in a certain state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from airflow_provider_blockread.blocks import BlockGroup, FileVersion
from airflow_provider_blockread.blocks.ids import window_id
from airflow_provider_blockread.exchange.model import OutputFile
from airflow_provider_blockread.ledger.feeds import batched
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.model import (
    Claim,
    GroupOutcome,
    GroupRef,
    JournalEntry,
    NewWindow,
    Publication,
    Window,
)
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.windows import planning
from airflow_provider_blockread.ledger.windows.groups import claim_group, complete_group
from airflow_provider_blockread.ledger.windows.journal import confirm_entries, journal
from airflow_provider_blockread.ledger.windows.planning import claim_window, release_stale_plans
from airflow_provider_blockread.ledger.windows.publishing import claim_publication, finish_publication, mark_proven
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.ledger.windows.selection import pending_files
from airflow_provider_blockread.options import Selection
from airflow_provider_blockread.proof.model import Sums

FEED = "logs"
STALE_S = 60.0
SUMS = Sums(records=10, bad_records=1, skipped_records=2, rows=9, bytes=100, digest="d")


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned(NewWindow):
    """A plan, with what its window is claimed for."""

    id: str  # blocks.ids.window_id(feed, key)
    feed: str
    key: str
    owner: str
    interval_ns: tuple[int, int] | None = None


def version(name: str, *, size: int = 10, mtime_ns: int = 1) -> FileVersion:
    """Return a file version."""
    return FileVersion(path=f"file:///in/{name}", size=size, mtime_ns=mtime_ns)


def pending(ledger: Ledger, feed: str = FEED, selection: Selection | None = None) -> list[int]:
    """Return the ids of the pending files, oldest first."""
    return [item.file for item in pending_files(ledger, feed, selection or Selection(), block_size=4)]


def plan(key: str, *, files: int, groups: int = 2, feed: str = FEED, owner: str = "planner") -> Planned:
    """Return a plan of equal groups."""
    return Planned(
        id=window_id(feed, key),
        feed=feed,
        key=key,
        manifest_uri=f"file:///area/{key}.parquet",
        manifest_hash="hash",
        files=files,
        blocks=files,
        bytes=10 * files,
        groups=[
            BlockGroup(number=n, files=files, blocks=files, bytes=10, first_path="a", last_path="b")
            for n in range(groups)
        ],
        options={"delimiter": ","},
        clear_number=0,
        owner=owner,
    )


def freeze_window(ledger: Ledger, planned: Planned, files: Iterable[int]) -> Window:
    """Return the window opened over these pending files; those of which it reads parts need not be among them."""
    release_stale_plans(ledger, planned.feed)
    in_parts = {part.file for part in planned.parts}
    asked = {"owner": planned.owner, "run": planned.run, "interval_ns": planned.interval_ns}
    claim = claim_window(ledger, planned.feed, planned.key, **asked)
    with claim as planner:
        for batch in batched((file for file in files if file not in in_parts), planning.BATCH_FILES):
            planner.take(batch)
        planner.open(planned)
    return get_window(ledger, planner.window)


def close_empty_window(
    ledger: Ledger, feed: str, key: str, *, owner: str, interval_ns: tuple[int, int] | None = None
) -> Window:
    """Return the window of this key, closed with nothing to read."""
    release_stale_plans(ledger, feed)
    with claim_window(ledger, feed, key, owner=owner, interval_ns=interval_ns) as planner:
        pass
    return get_window(ledger, planner.window)


def open_window(
    ledger: Ledger, key: str = "k", names: Sequence[str] = ("a", "b"), *, groups: int = 2, feed: str = FEED
) -> Window:
    """Return a window opened over files that are found just now."""
    record_files(ledger, feed, [version(name) for name in names], complete=False)
    files = pending(ledger, feed)
    return freeze_window(ledger, plan(key, files=len(files), groups=groups, feed=feed), files)


def ref(window: Window, group: int = 0, generation: int = 1) -> GroupRef:
    """Return a group's reference."""
    return GroupRef(window=window.id, generation=generation, group=group)


def claim(ledger: Ledger, group: GroupRef, *, owner: str = "reader", clear_number: int = 0) -> Claim:
    """Return a claim that must be granted."""
    granted = claim_group(ledger, group, owner=owner, clear_number=clear_number, stale_after_s=STALE_S)
    assert granted is not None
    return granted


def outcome(group: GroupRef, epoch: int = 1) -> GroupOutcome:
    """Return what an attempt reports."""
    uri = f"file:///area/{group.generation}/{group.group}/{epoch}.json"
    return GroupOutcome(result_uri=uri, result_hash="hash", records=5, bad_records=0, rows=5, read_bytes=50)


def read_all(ledger: Ledger, window: Window, generation: int = 1, *, clear_number: int = 0) -> None:
    """Read every group of a generation that is not done."""
    for number in range(window.groups):
        group = ref(window, number, generation)
        granted = claim_group(ledger, group, owner="reader", clear_number=clear_number, stale_after_s=STALE_S)
        if granted is not None:
            complete_group(ledger, granted, outcome(group, granted.epoch))


def committer(ledger: Ledger, window: Window, generation: int = 1, *, owner: str = "committer") -> Publication:
    """Return a claim on publishing."""
    return claim_publication(ledger, window.id, generation, owner=owner, stale_after_s=STALE_S)


def steps(generation: int = 1, count: int = 3) -> list[JournalEntry]:
    """Return the steps of a publication."""
    return [
        JournalEntry(seq=n, kind="output", action="add", source=f"stage/{generation}/{n}", target=f"out/{n}", size=10)
        for n in range(count)
    ]


def outputs(generation: int = 1, count: int = 3) -> list[tuple[str, OutputFile]]:
    """Return what those steps publish."""
    return [(s.kind, OutputFile(uri=s.target, source=s.source, size=s.size, rows=3)) for s in steps(generation, count)]


def publish(ledger: Ledger, window: Window, generation: int = 1) -> Publication:
    """Read, prove and publish a generation."""
    read_all(ledger, window, generation)
    held = committer(ledger, window, generation)
    mark_proven(ledger, held, SUMS)
    journal(ledger, held, steps(generation), outputs=outputs(generation))
    confirm_entries(ledger, held, [0, 1, 2])
    finish_publication(ledger, held)
    return held
