"""Preview: what a plan would take and why, without freezing it."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_blockread.blocks import BlockGroup, GroupLimits
from airflow_provider_blockread.blocks.group import iter_blocks
from airflow_provider_blockread.exchange.manifest import summarize
from airflow_provider_blockread.ledger.model import Discovered, Window
from airflow_provider_blockread.ledger.planning import find_window
from airflow_provider_blockread.steps.model import Environment, PlanRequest
from airflow_provider_blockread.steps.planning import Chosen, check_schemas, discover, group_limits


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
    sample: tuple[tuple[str, int], ...]  # path and size of the first files, in the order they would be read


def preview(env: Environment, request: PlanRequest, *, sample: int = 10) -> Preview:
    """Return what planning the request now would freeze; only the feed's index of known files is written.

    Raises:
        OptionsError: when an option's text cannot be understood.
        SourceError: when a root is missing or cannot be listed.
    """
    check_schemas(request.generation)
    found = discover(env, request)
    limits = group_limits(request)
    chosen = Chosen(env, request, limits.block_size)
    groups = summarize(iter_blocks(chosen.parts(), limits, total_bytes=chosen.bytes))
    first = tuple((part.version.path, part.version.size) for part, _ in zip(chosen.parts(), range(sample)))  # noqa: B905
    return Preview(
        feed=request.feed,
        discovered=found,
        limits=limits,
        existing=find_window(env.ledger, request.feed, request.key),
        files=len(chosen.ids),
        blocks=sum(group.blocks for group in groups),
        bytes=chosen.bytes,
        groups=groups,
        sample=first,
    )
