"""How a window's files are cut and packed, and how a lost or damaged manifest is restored from the files in the ledger.

The manifest's hash proves that the restored plan is the same.
"""

from __future__ import annotations

from airflow_provider_blockread.blocks import AutoSize, GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import FileRange
from airflow_provider_blockread.blocks.sizing import READERS
from airflow_provider_blockread.errors import ExchangeError, OptionsError, PrunedError
from airflow_provider_blockread.exchange.files import MANIFEST, read_checked
from airflow_provider_blockread.exchange.manifest import render_manifest, summarize
from airflow_provider_blockread.ledger.model import Generation, PendingFile, Window
from airflow_provider_blockread.ledger.store import Ledger
from airflow_provider_blockread.ledger.upkeep.retention import restore_plan
from airflow_provider_blockread.ledger.windows.generations import PRUNED, as_read_by, published_generation
from airflow_provider_blockread.ledger.windows.parts import giving_up, giving_up_parts
from airflow_provider_blockread.ledger.windows.selection import window_files
from airflow_provider_blockread.options import parse_size
from airflow_provider_blockread.options.plan import AUTO
from airflow_provider_blockread.records.format import RecordFormat, is_one_block
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.steps.model import Environment, PlanRequest

_WHOLE = 2**62  # bytes; a block size that no file reaches


def manifest_identity(env: Environment, window: str, feed: str) -> dict[str, str]:
    """Return the metadata that identify a manifest."""
    return {"window": window, "feed": feed, "ledger": env.ledger.uuid}


def group_limits(env: Environment, request: PlanRequest, readers: int | None = None) -> GroupLimits:
    """Return how the request's files are cut and packed; a format that cannot be split makes one block per file.

    There are at most as many groups as `readers`, since each group has at least one reader.
    """
    splitting, needs_window = request.splitting, request.generation.function.needs_window
    splittable = make_format(request.generation.record_format).splittable
    block_size: int | AutoSize = _WHOLE
    if splittable and splitting.block_size == AUTO:
        block_size = AutoSize(readers=splitting.max_readers or READERS, store_block=env.stores.block_size)
    elif splittable:
        block_size = parse_size(splitting.block_size)
    return GroupLimits(
        block_size=block_size,
        group_bytes=parse_size(splitting.group_bytes),
        max_groups=1 if needs_window else min(splitting.max_groups, readers or splitting.max_groups),
        splittable=splittable,
    )


def part_of(ledger: Ledger, found: PendingFile, fmt: RecordFormat) -> FileRange:
    """Return what a window reads of a file: a part or all of it, in one block if it is compressed.

    Raises:
        OptionsError: when earlier windows read parts of the file, and this format cannot start in its middle.
    """
    version, part = found.version, found.part
    whole = is_one_block(fmt, version.path)
    if part is None:
        return FileRange(found.file, version, 0, version.size, whole)
    if part.start and (whole or not fmt.splittable):
        msg = (
            f"{version.path} was read up to byte {part.start} by earlier windows, and format {fmt.name} cannot continue"
            " there; plan with the format that they were read with, or give these windows up, in this order:"
            f" {', '.join(giving_up_parts(ledger, found.file))}"
        )
        raise OptionsError(msg)
    return FileRange(file=found.file, version=version, start=part.start, end=part.end, whole=whole)


def without_plan(env: Environment, window: Window, generation: Generation | None) -> str:
    """Return why a window is not read again as a generation reads it: its plan was pruned; empty where it is."""
    if window.pruned_at is None or env.stores.exists(as_read_by(window, generation).manifest_uri):
        return ""
    return f"left alone, since it was pruned on {window.pruned_at:%Y-%m-%d} and its plan is gone"


def restore_pruned(env: Environment, window: Window) -> None:
    """Make sure that a generation of the window can start: a pruned window gets its groups back from its manifest.

    Raises:
        PrunedError: when the manifest was pruned, too.
    """
    if window.pruned_at is None:
        return
    plan = as_read_by(window, published_generation(env.ledger, window.id))
    try:
        planned = summarize(env.blocks(plan))
    except ExchangeError as error:
        when = f"{window.pruned_at:%Y-%m-%d %H:%M:%SZ}"
        msg = f"feed {window.feed}: window {window.id} {window.key!r} was pruned on {when}: {PRUNED}"
        raise PrunedError(msg) from error
    restore_plan(env.ledger, window.id, planned)
    env.observer.log(f"window {window.id} was pruned; its plan is restored from {plan.manifest_uri}")


def ensure_manifest(env: Environment, window: Window, request: PlanRequest) -> None:
    """Make sure that the window's manifest is the planned one; write it again if it can be proven to be the same.

    The window is an open one, as its generation reads it; a plan that names newer versions is not written again. The
    request says how its files were ordered, cut and packed, and which of them are compressed.

    Raises:
        ExchangeError: when the manifest is lost, and the ledger and these options produce a different one.
    """
    try:
        read_checked(env.stores, window.manifest_uri, window.manifest_hash, MANIFEST)
    except ExchangeError as error:
        found = window_files(env.ledger, window.id, order=request.selection.order)
        fmt = make_format(request.generation.record_format)
        parts = (part_of(env.ledger, file, fmt) for file in found)
        blocks = iter_blocks(parts, group_limits(env, request, window.readers), total_bytes=window.bytes)
        data, summary = render_manifest(blocks, identity=manifest_identity(env, window.id, window.feed))
        if summary.hash != window.manifest_hash:
            if window.manifest_hash == window.plan_hash:
                raise
            msg = (
                f"manifest {window.manifest_uri} of window {window.id} {window.key!r} is lost or damaged, and a plan"
                " that names newer versions of files cannot be written again; put it back, or give the window up"
                f" ({giving_up(env.ledger, window.id)}), and the next run reads its files as they are now"
            )
            raise ExchangeError(msg) from error
        env.stores.write_bytes_atomic(window.manifest_uri, data)
        env.observer.log(f"window {window.id}: its manifest was lost; it is written again, byte for byte the same")
