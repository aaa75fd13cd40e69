"""What a new window takes: files are chosen, cut and packed in one pass, and the sums of both compared."""

from __future__ import annotations

import dataclasses
import hashlib
from array import array
from collections.abc import Callable, Iterator
from typing import TypeVar

from airflow_provider_blockread.blocks import AutoSize, Block, GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import Part
from airflow_provider_blockread.errors import PlanConflictError, ProofError
from airflow_provider_blockread.exchange.manifest import ManifestSummary
from airflow_provider_blockread.ledger.model import FilePart, PendingFile
from airflow_provider_blockread.ledger.selection import pending_files
from airflow_provider_blockread.options import Limits, Selection, parse_size
from airflow_provider_blockread.options.plan import AUTO
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.steps.restoring import part_of
from airflow_provider_blockread.storage.store_blocks import StoreBlocks

_WHOLE = 2**62  # bytes; a block size that no file reaches

_Plan = TypeVar("_Plan")


def group_limits(env: Environment, request: PlanRequest) -> GroupLimits:
    """Return how the request's files are cut and packed; a format that cannot be split makes one block a file."""
    splitting = request.splitting
    splittable = make_format(request.generation.record_format).splittable
    block_size: int | AutoSize = _WHOLE
    if splittable and splitting.block_size == AUTO:
        block_size = AutoSize(readers=splitting.readers, store_block=StoreBlocks(env.stores))
    elif splittable:
        block_size = parse_size(splitting.block_size)
    return GroupLimits(
        block_size=block_size,
        group_bytes=parse_size(splitting.group_bytes),
        max_groups=splitting.max_groups,
        splittable=splittable,
    )


class Chosen:
    """The files of a new window: `choose` them once, then know their ids and sums, and have them `again`.

    `files` and `blocks` count what makes blocks: an empty file makes none, unless it is compressed.
    """

    def __init__(self, env: Environment, request: PlanRequest, limits: GroupLimits) -> None:
        self._env, self._request, self._limits = env, request, limits
        self._format = request.generation.record_format
        self.ids = array("q")
        self.files = self.blocks = self.bytes = 0
        self.late = 0  # files of another interval
        self.in_parts: dict[int, PendingFile] = {}  # by file

    def choose(self) -> Iterator[Part]:
        """Yield what the window reads of each file, while they are being chosen."""
        for pending in self._select(self._request.selection):
            self.ids.append(pending.file)
            self.late += pending.late
            if pending.part is not None:
                self.in_parts[pending.file] = pending
            part = part_of(pending, self._format)
            self._count(pending, whole=part.whole)
            yield part

    def plan(self, make: Callable[[Iterator[Block]], _Plan]) -> _Plan:
        """Choose the files, and return what `make` makes of their blocks; it may be asked twice."""
        made = make(iter_blocks(self.choose(), self._limits, total_bytes=0))
        if self._limits.target(self.bytes) == self._limits.target(0):
            return made
        # So many bytes that there would be too many groups: these must be larger.
        return make(iter_blocks(self.again(), self._limits, total_bytes=self.bytes))

    def _count(self, pending: PendingFile, *, whole: bool) -> None:
        version, part = pending.version, pending.part
        start, end = (0, version.size) if part is None else (part.start, part.end)
        size = self._limits.size_of(version)
        blocks = 1 if whole else -(-end // size) - start // size
        self.files += blocks > 0
        self.blocks += blocks
        self.bytes += end - start

    def _is_whole(self, path: str) -> bool:
        return self._format.codec(path) is not None

    def check(self, planned: ManifestSummary) -> None:
        """Compare what the groups of a plan hold with what was chosen.

        Raises:
            ProofError: when files, blocks or bytes are missing or too many.
        """
        groups = planned.groups
        held = planned.files, sum(group.blocks for group in groups), sum(group.bytes for group in groups)
        chosen = self.files, self.blocks, self.bytes
        if held != chosen:
            msg = (
                f"feed {self._request.feed}: window {self._request.key!r} was to hold {_sums(chosen)}, but its groups"
                f" hold {_sums(held)}; nothing is planned: plan again, and if this stays, report it with the sizes"
            )
            raise ProofError(msg)

    @property
    def ranges(self) -> tuple[FilePart, ...]:
        """The ranges of the files that are not read whole."""
        return tuple(pending.part for pending in self.in_parts.values() if pending.part is not None)

    @property
    def identity(self) -> tuple[str, ...]:
        """What tells this choice from others."""
        return hashlib.sha256(self.ids).hexdigest(), *(f"{part.file} {part.start} {part.end}" for part in self.ranges)

    def _select(self, selection: Selection) -> Iterator[PendingFile]:
        request = self._request
        return pending_files(
            self._env.ledger,
            request.feed,
            selection,
            interval_ns=request.interval_ns,
            block_size=self._limits.size_of,
            whole=self._is_whole,
        )

    def again(self) -> Iterator[Part]:
        """Yield the same in the same order, once all are chosen; files that came since are left for the next window."""
        position = 0
        # The ids are chosen already: files that have come or grown old since must not move the limits.
        rest = dataclasses.replace(self._request.selection, limits=Limits(), max_age=None)
        for pending in self._select(rest):
            if position == len(self.ids):
                return
            if pending.file == self.ids[position]:
                position += 1
                yield part_of(self.in_parts.get(pending.file, pending), self._format)
        if position < len(self.ids):
            msg = f"feed {self._request.feed}: another planner took file {self.ids[position]} first; plan again"
            raise PlanConflictError(msg)


def _sums(counts: tuple[int, int, int]) -> str:
    return "{:,} files of {:,} blocks and {:,} bytes".format(*counts)
