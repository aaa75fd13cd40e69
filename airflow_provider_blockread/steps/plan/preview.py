"""Preview: what a plan would take and why, without freezing it."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory

from airflow_provider_blockread.blocks import AutoSize, BlockGroup, GroupLimits
from airflow_provider_blockread.blocks.group import FileRange, iter_blocks
from airflow_provider_blockread.blocks.readers import ReaderChoice
from airflow_provider_blockread.blocks.sizing import BlockChoice
from airflow_provider_blockread.exchange.manifest import summarize
from airflow_provider_blockread.ledger.feeds import find_feed
from airflow_provider_blockread.ledger.model import Discovered, PendingFile, Window
from airflow_provider_blockread.ledger.store import Ledger
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
from airflow_provider_blockread.steps.plan.taking import Taken

_SAMPLE = 10  # files that are shown


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


def preview(env: Environment, request: PlanRequest) -> Preview:
    """Return what planning the request now would freeze; only the index of known files is written, of a known feed.

    Raises:
        OptionsError: when an option's text is invalid, or the key is blank.
        SourceError: when a root is missing or cannot be listed.
    """
    check_key(request)
    check_schemas(request.generation)
    with _apart(env, request.feed) as here:
        return _preview(here, request)


@contextmanager
def _apart(env: Environment, feed: str) -> Iterator[Environment]:
    """Yield the environment; for a feed that its ledger does not know, with a ledger that is dropped afterwards.

    Otherwise a feed that is never planned would seem to wait for its files, and keep them from being cleaned.
    """
    with env.ledger.reading() as connection:
        known = find_feed(connection, feed) is not None
    if known:
        yield env
        return
    with (
        TemporaryDirectory(prefix="blockread-") as folder,
        closing(Ledger(f"sqlite:///{folder}/ledger.db", now=env.ledger.now)) as ledger,
    ):
        ledger.upgrade(identity=env.ledger.uuid)
        yield replace(env, ledger=ledger)


def _preview(env: Environment, request: PlanRequest) -> Preview:
    request = of_interval(env, request)
    check_date(request.generation.sink, request.key)
    found = discover(env, request)
    chosen = Taken(env, request)
    deque(chosen.choose(), maxlen=0)
    limits = chosen.limits
    tally = _Tally(request.generation.record_format, limits)
    groups = summarize(iter_blocks(tally.of(chosen.again()), limits, total_bytes=chosen.bytes))
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
        compressed=tally.compressed,
        scanned=tally.scanned,
        late=chosen.late,
        left_out=left_out(found, late),
        left_out_text=describe_left_out(request, found, late).removeprefix("; left out: "),
        parts=tuple(chosen.in_parts.values()),
        block_sizes=dict(tally.sizes.most_common()),
        sample=tuple(tally.sample),
    )


class _Tally:
    """What a preview counts of the files while they are cut and packed, and the first of them."""

    def __init__(self, option: FormatOption, limits: GroupLimits) -> None:
        self._format, self._limits = make_format(option), limits
        self.compressed = self.scanned = 0
        self.sizes: Counter[BlockChoice] = Counter()
        self.sample: list[FileSample] = []

    def of(self, parts: Iterable[FileRange]) -> Iterator[FileRange]:
        """Yield the parts, and count them."""
        auto = self._limits.block_size if isinstance(self._limits.block_size, AutoSize) else None
        for part in parts:
            size = part.end - part.start
            choice = None if auto is None or part.whole else auto.choice(part.version)
            if part.whole:
                self.compressed += 1
            elif size > self._limits.size_of(part.version) and must_scan(self._format, part.version.path):
                self.scanned += 1
            if choice is not None:
                self.sizes[choice] += 1
            if len(self.sample) < _SAMPLE:
                self.sample.append(FileSample(path=part.version.path, size=size, block_size=choice))
            yield part
