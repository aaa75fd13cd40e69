"""Preview: what a plan would take and why, without freezing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from airflow_provider_blockread.blocks import BlockGroup, GroupLimits
from airflow_provider_blockread.blocks.group import Part, iter_blocks
from airflow_provider_blockread.exchange.manifest import summarize
from airflow_provider_blockread.ledger.model import Discovered, PendingFile, Window
from airflow_provider_blockread.ledger.planning import find_window
from airflow_provider_blockread.options import FormatOption
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.steps.discovering import describe_left_out, discover, find_late, left_out
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.steps.planning import Chosen, check_key, check_schemas, group_limits
from airflow_provider_blockread.steps.reopening import of_interval


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a plan would freeze. `existing` is the window that already has this key; it would be replayed instead."""

    feed: str
    discovered: Discovered
    limits: GroupLimits
    existing: Window | None
    files: int
    blocks: int
    bytes: int
    groups: tuple[BlockGroup, ...]
    compressed: int  # files that are one block each, as nobody can enter them in the middle
    scanned: int  # files whose blocks are scanned before they are read
    late: int  # files of intervals that were planned before they came
    left_out: Mapping[str, int]  # files by reason
    left_out_text: str
    parts: tuple[PendingFile, ...]  # files that are not read whole
    sample: tuple[tuple[str, int], ...]  # path of the first files and what is read of them, in the order of reading


def preview(env: Environment, request: PlanRequest, *, sample: int = 10) -> Preview:
    """Return what planning the request now would freeze; only the feed's index of known files is written.

    Raises:
        OptionsError: when an option's text cannot be understood, or the key is blank.
        SourceError: when a root is missing or cannot be listed.
    """
    check_key(request)
    check_schemas(request.generation)
    request = of_interval(env, request)
    found = discover(env, request)
    limits = group_limits(request)
    chosen = Chosen(env, request, limits.block_size)
    tally = Counter[str]()
    parts = _tallied(chosen.parts(), request.generation.record_format, limits, tally)
    groups = summarize(iter_blocks(parts, limits, total_bytes=chosen.bytes))
    first = tuple((part.version.path, part.end - part.start) for part, _ in zip(chosen.parts(), range(sample)))  # noqa: B905
    late = find_late(env, request)
    return Preview(
        feed=request.feed,
        discovered=found,
        limits=limits,
        existing=find_window(env.ledger, request.feed, request.key),
        files=len(chosen.ids),
        blocks=sum(group.blocks for group in groups),
        bytes=chosen.bytes,
        groups=groups,
        compressed=tally["compressed"],
        scanned=tally["scanned"],
        late=chosen.late,
        left_out=left_out(found, late),
        left_out_text=describe_left_out(request, found, late).removeprefix("; left out: "),
        parts=tuple(chosen.in_parts.values()),
        sample=first,
    )


def _tallied(parts: Iterable[Part], option: FormatOption, limits: GroupLimits, tally: Counter[str]) -> Iterator[Part]:
    """Yield the parts, and count those that are compressed and those that must be scanned."""
    needs_scan = make_format(option).needs_scan
    for part in parts:
        if option.codec(part.version.path) is not None:
            tally["compressed"] += 1
        elif needs_scan and part.end - part.start > limits.block_size:
            tally["scanned"] += 1
        yield part
