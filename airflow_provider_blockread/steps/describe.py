"""Sizes, groups and parts of files in words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate

from airflow_provider_blockread.blocks import BlockGroup
from airflow_provider_blockread.blocks.readers import ReaderChoice
from airflow_provider_blockread.blocks.sizing import BlockChoice
from airflow_provider_blockread.errors import printable
from airflow_provider_blockread.ledger.model import PendingFile
from airflow_provider_blockread.observer import Tally
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.steps.model import Published

_MIB = 2**20
_MINUTE_S = 60.0
_TITLE_CHARS = 250  # that Airflow's database keeps of a mapped task's title
_TITLES_BYTES = 48 * 1024
_JSON_BYTES = 4  # quotes, a comma and a space
_KEYS_BYTES = 16 * 2**10  # for keys of partitions in a summary
_SHORTEST = 24  # a shorter title would be meaningless
_DOTS = "..."
_REASONS = {
    "small": "holds all of the file",
    "shared": "a share for each reader",
    "smallest": "no block is cut smaller",
    "largest": "no block grows larger",
}


def describe_block_size(choice: BlockChoice) -> str:
    """Return the block size chosen for a file, and why: `32 MiB, 1/2 of the store's 64 MiB: for all readers`."""
    block, store = choice.block_size, choice.store_block
    if block % store == 0:
        of = "the store's own" if block == store else f"{block // store} of the store's {_mib(store)}"
    else:
        of = f"1/{store // block} of the store's {_mib(store)}"
    return f"{_mib(block)}, {of}: {_REASONS[choice.why]}"


def describe_readers(choice: ReaderChoice) -> str:
    """Return how many readers were chosen, and why.

    `6 readers: 100.0 GB at 32.0 MB/s each (default; no window measured yet) take 8.7 min of 10.0 min`
    """
    goal = choice.goal
    count = plural(choice.readers, "reader")
    limit = {
        "backlog": "",
        "least": f", the least (min_readers={goal.least})",
        "most": f", the most (max_readers={goal.most})",
        "blocks": ", one a block",
    }[choice.why]
    words = {0: "default; no window measured yet", 1: "as the last window measured"}
    measured = words.get(choice.windows, f"median of the last {choice.windows} windows measured")
    rate = f"{format_bytes(choice.rate)}/s each ({measured})"
    return (
        f"{count}{limit}: {format_bytes(choice.bytes)} at {rate} take {_time(choice.seconds)} of {_time(goal.target_s)}"
    )


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < _MINUTE_S else f"{seconds / _MINUTE_S:.1f} min"


def _mib(size: int) -> str:
    return f"{size // _MIB:,} MiB" if size % _MIB == 0 else f"{size:,} B"


def describe_group(group: BlockGroup) -> str:
    """Return what a group holds: its number, files, bytes and the names of its first and last file."""
    first, last = (path.rpartition("/")[2] for path in (group.first_path, group.last_path))
    names = first if first == last else f"{first} .. {last}"
    return printable(f"group {group.number}: {plural(group.files, 'file')}, {format_bytes(group.bytes)}, {names}")


def group_titles(groups: Sequence[BlockGroup]) -> list[str]:
    """Return a description of each group, shortened to less than 48 KB of JSON in all; empty for too many groups."""
    most = min(_TITLE_CHARS, _TITLES_BYTES // max(len(groups), 1) - _JSON_BYTES)
    return [_cut(describe_group(group), most) for group in groups] if most >= _SHORTEST else []


def _cut(title: str, most: int) -> str:
    """Return the title shortened to at most this many bytes of JSON, in which non-ASCII characters are escaped."""
    cut = title[:most]
    while len(json.dumps(cut)) - 2 > most - len(_DOTS) * (cut != title):
        cut = cut[:-1]
    return cut if cut == title else cut + _DOTS


def describe_read(group: BlockGroup, *, excluded: int, bad_records: int) -> str:
    """Return what a group held, and what was not read: files that were left out, and bad records."""
    title = describe_group(group) if excluded < group.files else f"group {group.number}: nothing read"
    more = f"; {plural(excluded, 'file')} excluded" if excluded else ""
    more += f"; {plural(bad_records, 'bad record')}" if bad_records else ""
    return _cut(title, _TITLE_CHARS - len(more)) + more


def describe_tally(tally: Tally) -> str:
    """Return what has been read so far: `12 blocks, 900.0 MB, 1,204,331 records, 2 bad`."""
    bad = f", {tally.bad_records:,} bad" if tally.bad_records else ""
    return f"{plural(tally.blocks, 'block')}, {format_bytes(tally.bytes)}, {plural(tally.records, 'record')}{bad}"


def describe_published(done: Published) -> str:
    """Return what a published window leaves out, and whether that is everything; empty if it leaves out nothing."""
    losses = []
    if done.excluded:
        losses.append(f"{plural(done.excluded, 'file')} excluded")
    if done.bad_records:
        fate = f"kept in {done.quarantine_uri}" if done.quarantine_uri else "dropped"
        losses.append(f"{done.bad_records:,} of {done.records:,} records bad, {fate}")
    if done.status == "published" and not done.changes_output:
        good = done.records - done.bad_records
        losses.append(f"the function kept none of {good:,} records" if good else "no record was left to publish")
        return f"window {done.window} publishes nothing: {'; '.join(losses)}"
    return f"window {done.window}: {'; '.join(losses)}" if losses else ""


def describe_part(pending: PendingFile) -> str:
    """Return which part of a file a window reads, or an empty string if it reads the whole file."""
    part = pending.part
    if part is None:
        return ""
    rest = "" if part.is_last else "; the next windows continue there"
    return f"part {part.number} of a file, bytes {part.start:,} to {part.end:,} of {pending.version.size:,}{rest}"


def some_keys(keys: Sequence[str]) -> tuple[str, ...]:
    """Return the first keys of partitions, as many as fit into an XCom."""
    ends = accumulate(len(json.dumps(key)) for key in keys)
    return tuple(key for key, end in zip(keys, ends, strict=True) if end <= _KEYS_BYTES)
