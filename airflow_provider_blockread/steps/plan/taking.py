"""What a new window takes: files are chosen, cut and packed in one pass, and the sums before and after are compared."""

from __future__ import annotations

import dataclasses
import hashlib
from array import array
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import cached_property, partial
from itertools import chain
from statistics import median_low
from typing import TypeVar

from airflow_provider_blockread.blocks import Block, FileVersion, GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import FileRange
from airflow_provider_blockread.blocks.readers import DEFAULT_RATE, ReaderChoice, ReaderGoal, choose_readers
from airflow_provider_blockread.errors import PlanConflictError, ProofError
from airflow_provider_blockread.exchange.manifest import ManifestSummary
from airflow_provider_blockread.ledger.feeds import BATCH_FILES, batched
from airflow_provider_blockread.ledger.model import FilePart, PendingFile
from airflow_provider_blockread.ledger.overlap import overlapped
from airflow_provider_blockread.ledger.windows.planning import Planner
from airflow_provider_blockread.ledger.windows.rates import reader_rates
from airflow_provider_blockread.ledger.windows.selection import pending_files, window_files
from airflow_provider_blockread.options import Limits, Selection
from airflow_provider_blockread.records.format import is_one_block
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.steps.plan.discovering import scope_of
from airflow_provider_blockread.steps.plan.restoring import group_limits, part_of

_AHEAD = 2  # chosen batches of files that wait to be taken

_Plan = TypeVar("_Plan")


class Taken:
    """The files of a new window: `choose` them once; then ids, sums and readers are known, and `again` repeats them.

    `files` and `blocks` count only files with blocks: an empty file has none, unless `is_one_block`.

    The planner, if any, takes the files while they are chosen.
    """

    def __init__(self, env: Environment, request: PlanRequest, planner: Planner | None = None) -> None:
        self._env, self._request, self._planner = env, request, planner
        self._limits = group_limits(env, request)  # unless a number of readers is chosen
        self._format = make_format(request.generation.record_format)
        self.ids = array("q")
        self.files = self.blocks = self.bytes = 0
        self.late = 0  # late files of another interval
        self.in_parts: dict[int, PendingFile] = {}  # by file

    def choose(self) -> Generator[FileRange]:
        """Yield what the window reads of each file, while files are being chosen."""
        with closing(self._batches()) as batches:  # however it ends, no batch is still being taken afterwards
            for found in batches:
                self.ids.extend([pending.file for pending in found])
                self.late += sum(pending.late for pending in found)
                self.in_parts.update((pending.file, pending) for pending in found if pending.part is not None)
                parts = [part_of(self._env.ledger, pending, self._format) for pending in found]
                self._count(parts)
                yield from parts

    def _batches(self) -> Generator[list[PendingFile]]:
        found = batched(self._select(self._request.selection), BATCH_FILES)
        if self._planner is None:
            yield from found
        else:
            yield from overlapped(partial(self._take, self._planner), found, ahead=_AHEAD)

    def plan(self, make: Callable[[Iterator[Block]], _Plan]) -> _Plan:
        """Choose the files, and return what `make` makes of their blocks; `make` may be called twice."""
        newest = _Newest()
        with closing(self.choose()) as parts:
            made = make(newest.of(iter_blocks(parts, self._limits, total_bytes=0)))
        limits = self.limits
        if limits.target(self.bytes) == self._limits.target(0) and newest.group < limits.max_groups:
            return made
        # With so many bytes, or so few readers, there would be too many groups, so groups must be larger.
        return make(iter_blocks(self.again(), limits, total_bytes=self.bytes))

    @cached_property
    def choice(self) -> ReaderChoice | None:
        """The choice of the window's readers, once its files are chosen, or None if the options set no target."""
        splitting = self._request.splitting
        if splitting.target_minutes is None:
            return None
        goal = ReaderGoal(
            target_s=splitting.target_minutes * 60, least=splitting.min_readers, most=splitting.max_readers
        )
        rates = reader_rates(self._env.ledger, self._request.feed)
        rate = median_low(rates) if rates else DEFAULT_RATE
        return choose_readers(self.bytes, self.blocks, rate=rate, windows=len(rates), goal=goal)

    @property
    def readers(self) -> int | None:
        """How many tasks may read the window at once, known once its files are chosen; None for no limit."""
        return self._request.splitting.max_readers if self.choice is None else self.choice.readers

    @property
    def limits(self) -> GroupLimits:
        """How the files are cut and packed, known once they are chosen."""
        return group_limits(self._env, self._request, self.readers)

    @staticmethod
    def _take(planner: Planner, found: list[PendingFile]) -> list[PendingFile]:
        """Take the files that are read whole, and return those that were taken; parts are taken with the window."""
        if whole := [pending.file for pending in found if pending.part is None]:
            planner.take(whole)
        return found

    def _count(self, parts: list[FileRange]) -> None:
        files = blocks = read = 0
        for _, version, start, end, whole in parts:
            size = self._limits.size_of(version)
            count = 1 if whole else -(-end // size) - start // size
            files, blocks, read = files + (count > 0), blocks + count, read + end - start
        self.files, self.blocks, self.bytes = self.files + files, self.blocks + blocks, self.bytes + read

    def check(self, planned: ManifestSummary) -> None:
        """Compare what the groups of a plan hold with what was chosen.

        Raises:
            ProofError: when there are too few or too many files, blocks or bytes.
        """
        groups = planned.groups
        held = planned.files, sum(group.blocks for group in groups), sum(group.bytes for group in groups)
        chosen = self.files, self.blocks, self.bytes
        if held != chosen:
            msg = (
                f"feed {self._request.feed}: window {self._request.key!r} was to hold {_sums(chosen)}, but its groups"
                f" hold {_sums(held)}; nothing is planned: plan again, and if this persists, report it with the sizes"
            )
            raise ProofError(msg)

    @property
    def ranges(self) -> tuple[FilePart, ...]:
        """The ranges of the files that are only partly read."""
        return tuple(pending.part for pending in self.in_parts.values() if pending.part is not None)

    @property
    def identity(self) -> tuple[str, ...]:
        """What distinguishes this choice from others."""
        return hashlib.sha256(self.ids).hexdigest(), *(f"{part.file} {part.start} {part.end}" for part in self.ranges)

    def _select(self, selection: Selection) -> Iterator[PendingFile]:
        request = self._request
        return pending_files(
            self._env.ledger,
            request.feed,
            selection,
            interval_ns=request.interval_ns,
            block_size=self._block_size,
            covers=scope_of(request),
        )

    def _block_size(self, version: FileVersion) -> int | None:
        return None if is_one_block(self._format, version.path) else self._limits.size_of(version)

    def _taken(self, planner: Planner) -> Iterator[PendingFile]:
        whole = window_files(self._env.ledger, planner.window, order=self._request.selection.order)
        return chain(self.in_parts.values(), whole)  # as `pending_files` orders them

    def again(self) -> Iterator[FileRange]:
        """Yield the same files in the same order, once all are chosen; newer files are left for the next window."""
        position = 0
        # The ids are already chosen: files that have arrived or become too old since must not affect the limits.
        rest = dataclasses.replace(self._request.selection, limits=Limits(), max_age=None)
        for pending in self._select(rest) if self._planner is None else self._taken(self._planner):
            if position == len(self.ids):
                return
            if pending.file == self.ids[position]:
                position += 1
                yield part_of(self._env.ledger, self.in_parts.get(pending.file, pending), self._format)
        if position < len(self.ids):
            msg = f"feed {self._request.feed}: another planner took file {self.ids[position]} first; plan again"
            raise PlanConflictError(msg)


class _Newest:
    """Remembers the group of the newest block."""

    group = 0

    def of(self, blocks: Iterator[Block]) -> Iterator[Block]:
        for block in blocks:
            self.group = block.group
            yield block


def _sums(counts: tuple[int, int, int]) -> str:
    return "{:,} files of {:,} blocks and {:,} bytes".format(*counts)
