"""Preview: what a plan would take and why, without freezing it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from airflow_provider_blockread.blocks import AutoSize, BlockGroup, GroupLimits
from airflow_provider_blockread.blocks.group import FileRange, iter_blocks
from airflow_provider_blockread.blocks.readers import ReaderChoice
from airflow_provider_blockread.blocks.sizing import BlockChoice
from airflow_provider_blockread.exchange.manifest import summarize
from airflow_provider_blockread.ledger.model import Discovered, PendingFile, Window
from airflow_provider_blockread.ledger.windows.planning import find_window
from airflow_provider_blockread.ledger.windows.progress import Progress, window_progress
from airflow_provider_blockread.ledger.windows.queries import unpublished_windows
from airflow_provider_blockread.options import FormatOption
from airflow_provider_blockread.records.format import must_scan
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.tasks.audit import check_date
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.steps.plan.discovering import describe_left_out, discover, find_late, left_out
from airflow_provider_blockread.steps.plan.planning import check_key, check_schemas
from airflow_provider_blockread.steps.plan.reopening import of_interval
from airflow_provider_blockread.steps.plan.taking import Taken, group_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSample:
    """A file that would be read: the bytes to read of it, and the block size if it was chosen for this file."""

    path: str
    size: int
    block_size: BlockChoice | None


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a plan would freeze. `existing` is a window that already has this key, and would be replayed instead."""

    feed: str
    discovered: Discovered
    limits: GroupLimits
    existing: Window | None
    progress: Progress | None  # of that window
    waiting: tuple[Window, ...]  # other windows of the feed that earlier runs left unpublished
    files: int
    blocks: int
    bytes: int
    groups: tuple[BlockGroup, ...]
    readers: int | None  # tasks that may read it at once; None for no limit
    choice: ReaderChoice | None  # of the readers, if the options set a target
    compressed: int  # files of one block each: a compressed file cannot be read from the middle
    scanned: int  # files whose blocks are scanned before they are read
    late: int  # files of intervals that were planned before the files arrived
    left_out: Mapping[str, int]  # files by reason
    left_out_text: str
    parts: tuple[PendingFile, ...]  # files that are only partly read
    block_sizes: Mapping[BlockChoice, int]  # with the number of files for which each was chosen; empty without "auto"
    sample: tuple[FileSample, ...]  # the first files in the order of reading


def preview(env: Environment, request: PlanRequest, *, sample: int = 10) -> Preview:
    """Return what planning the request now would freeze; only the feed's index of known files is written.

    Raises:
        OptionsError: when an option's text is invalid, or the key is blank.
        SourceError: when a root is missing or cannot be listed.
    """
    check_key(request)
    check_schemas(request.generation)
    request = of_interval(env, request)
    check_date(request.generation.sink, request.key)
    found = discover(env, request)
    limits = group_limits(env, request)
    chosen = Taken(env, request, limits)
    deque(chosen.choose(), maxlen=0)
    limits = chosen.limits
    tally, sizes = Counter[str](), Counter[BlockChoice]()
    parts = _tallied(chosen.again(), request.generation.record_format, limits, tally)
    if isinstance(limits.block_size, AutoSize):
        parts = _sized(parts, limits.block_size, sizes)
    groups = summarize(iter_blocks(parts, limits, total_bytes=chosen.bytes))
    first = tuple(_shown(part, limits) for part in islice(chosen.again(), sample))
    late = find_late(env, request)
    existing = find_window(env.ledger, request.feed, request.key)
    return Preview(
        feed=request.feed,
        discovered=found,
        limits=limits,
        existing=existing,
        progress=None if existing is None else window_progress(env.ledger, existing.id),
        waiting=tuple(window for window in unpublished_windows(env.ledger, request.feed) if window != existing),
        files=len(chosen.ids),
        blocks=sum(group.blocks for group in groups),
        bytes=chosen.bytes,
        groups=groups,
        readers=chosen.readers,
        choice=chosen.choice,
        compressed=tally["compressed"],
        scanned=tally["scanned"],
        late=chosen.late,
        left_out=left_out(found, late),
        left_out_text=describe_left_out(request, found, late).removeprefix("; left out: "),
        parts=tuple(chosen.in_parts.values()),
        block_sizes=dict(sizes.most_common()),
        sample=first,
    )


def _shown(part: FileRange, limits: GroupLimits) -> FileSample:
    auto = limits.block_size if isinstance(limits.block_size, AutoSize) and not part.whole else None
    return FileSample(
        path=part.version.path,
        size=part.end - part.start,
        block_size=None if auto is None else auto.choice(part.version),
    )


def _sized(parts: Iterable[FileRange], auto: AutoSize, sizes: Counter[BlockChoice]) -> Iterator[FileRange]:
    """Yield the parts, and count the block sizes of those that can be split."""
    for part in parts:
        if not part.whole:
            sizes[auto.choice(part.version)] += 1
        yield part


def _tallied(
    parts: Iterable[FileRange], option: FormatOption, limits: GroupLimits, tally: Counter[str]
) -> Iterator[FileRange]:
    """Yield the parts, and count those that are compressed and those that must be scanned."""
    fmt = make_format(option)
    for part in parts:
        if part.whole:
            tally["compressed"] += 1
        elif part.end - part.start > limits.size_of(part.version) and must_scan(fmt, part.version.path):
            tally["scanned"] += 1
        yield part
