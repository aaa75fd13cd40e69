"""Plan: find the window of a key, or freeze a new one. Nothing of the files but their metadata is read."""

from __future__ import annotations

import dataclasses
import hashlib
from array import array
from collections.abc import Iterator
from itertools import islice

from airflow_provider_blockread.blocks import GroupLimits, iter_blocks
from airflow_provider_blockread.blocks.group import Part
from airflow_provider_blockread.blocks.ids import digest, window_id
from airflow_provider_blockread.errors import OptionsError, PlanConflictError
from airflow_provider_blockread.exchange.layout import window_folder
from airflow_provider_blockread.exchange.manifest import write_manifest
from airflow_provider_blockread.ledger.generations import as_read_by, latest_generation
from airflow_provider_blockread.ledger.model import Discovered, FilePart, LateFiles, NewWindow, PendingFile
from airflow_provider_blockread.ledger.planning import (
    close_empty_window,
    find_window,
    freeze_window,
    release_stale_plans,
)
from airflow_provider_blockread.ledger.queries import unpublished_windows
from airflow_provider_blockread.ledger.selection import pending_files
from airflow_provider_blockread.options import GenerationOptions, Limits, Selection, parse_size
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.records.schema import parse_schema
from airflow_provider_blockread.steps.describe import describe_part, format_bytes
from airflow_provider_blockread.steps.discovering import describe_left_out, discover, find_late, left_out
from airflow_provider_blockread.steps.inferring import infers_columns
from airflow_provider_blockread.steps.model import Environment, PlanRequest, WindowRef
from airflow_provider_blockread.steps.places import check_apart, check_ledger
from airflow_provider_blockread.steps.reopening import of_interval
from airflow_provider_blockread.steps.replaying import open_ref, replay
from airflow_provider_blockread.steps.restoring import ensure_manifest, manifest_identity, part_of

_SHOWN = 3  # parts that a window's reference tells
_WHOLE = 2**62  # bytes; a block size that no file reaches


def plan(env: Environment, request: PlanRequest) -> WindowRef:
    """Return the window of the request's key: the one planned before, or a new one, frozen now.

    An open window is never listed again. If it is unpublished it is resumed, in a new generation where options have
    changed; if it is published, a higher `clear_number` asks for what `policies.on_rerun` says (see `replay`). Under
    `late="reopen"` files that came too late for a published interval are taken beside it (see `of_interval`).

    Raises:
        OptionsError: when the key is blank, or the source would take what is published as its input.
        SourceError: when a root is missing or cannot be listed.
        WrongLedgerError: when another ledger published this feed's files into the output.
        ExchangeError: when the manifest of an open window is lost, and the request would not make the same one.
        PlanConflictError: when another planner took the window or its files first.
    """
    check_key(request)
    options = canonical_options(env, request.generation)
    check_schemas(options)
    request = of_interval(env, request)
    window = find_window(env.ledger, request.feed, request.key)
    if window is not None and window.state == "open":
        ref = replay(env, request, options, window)
        if ref.status == "read":
            read_now = as_read_by(window, latest_generation(env.ledger, window.id))
            ensure_manifest(env, read_now, group_limits(request), request)
        return ref
    if window is not None and window.state == "abandoned":
        return _ref(env, request, status="skipped", message=f"window {window.id} was abandoned, and its key with it")
    if request.replay_only:
        message = (
            f"feed {request.feed} takes files as they arrive and has no window {request.key!r} to replay;"
            " use select='interval' to backfill by the files' times"
        )
        return _ref(env, request, status="skipped", message=message)
    return _plan_new(env, request, options)


def check_key(request: PlanRequest) -> None:
    """Refuse a blank key: all runs that have it would share one window.

    Raises:
        OptionsError: naming the feed.
    """
    if not request.key.strip():
        msg = f"feed {request.feed}: the window's key is blank; give it a value that names the run's data"
        raise OptionsError(msg)


def check_schemas(options: GenerationOptions) -> None:
    """Refuse a malformed schema before anything is planned, and not only where it is used.

    Raises:
        OptionsError: naming the schema.
    """
    fmt = make_format(options.record_format)
    if not infers_columns(options.record_format):
        fmt.decoder()
    if options.transform.schema is not None:
        parse_schema(options.transform.schema)


def canonical_options(env: Environment, options: GenerationOptions) -> GenerationOptions:
    """Return the options with places that mean the same in every process."""
    uri, work_uri = env.stores.canonical(options.sink.uri), env.stores.canonical(options.sink.work_area)
    return dataclasses.replace(options, sink=dataclasses.replace(options.sink, uri=uri, work_uri=work_uri))


def _plan_new(env: Environment, request: PlanRequest, options: GenerationOptions) -> WindowRef:
    key = window_id(request.feed, request.key)
    check_apart(request, options.sink, key)
    check_ledger(env, request.feed, options.sink)
    # Before anything is selected: what a planner held that died is to be read by this window already.
    release_stale_plans(env.ledger, request.feed, key=request.key, owner=request.owner)
    found = discover(env, request)
    limits = group_limits(request)
    chosen = Chosen(env, request, limits.block_size)
    late = find_late(env, request)
    if not chosen.ids:
        window = close_empty_window(
            env.ledger, request.feed, request.key, owner=request.owner, interval_ns=request.interval_ns
        )
        rest = describe_left_out(found, late, request.selection)
        message = f"window {window.id}: nothing new to read{_waiting(env, request.feed)}{rest}"
        return _with_counts(_ref(env, request, status="empty", message=message), found, late)
    folder = window_folder(options.sink.work_area, request.feed, key)
    uri = f"{folder}/manifest-{digest(*chosen.identity, str(limits))[:12]}.parquet"
    blocks = iter_blocks(chosen.parts(), limits, total_bytes=chosen.bytes)
    summary = write_manifest(env.stores, uri, blocks, identity=manifest_identity(env, key, request.feed))
    window = freeze_window(
        env.ledger,
        NewWindow(
            id=key,
            feed=request.feed,
            key=request.key,
            manifest_uri=uri,
            manifest_hash=summary.hash,
            files=len(chosen.ids),
            blocks=summary.blocks,
            bytes=summary.bytes,
            groups=summary.groups,
            options=options.to_json(),
            clear_number=request.clear_number,
            owner=request.owner,
            run=request.run,
            interval_ns=request.interval_ns,
            parts=chosen.ranges,
        ),
        chosen.ids,
    )
    message = f"window {key}: {len(chosen.ids):,} files, {format_bytes(summary.bytes)}, {summary.blocks:,} blocks"
    if chosen.late:
        message += f"; {chosen.late:,} of the files came too late for their own interval (late='next')"
    for pending in chosen.in_parts.values():
        env.log(f"window {key}: {pending.version.path}: {describe_part(pending)}")
    message += "".join(f"; {describe_part(pending)}" for pending in islice(chosen.in_parts.values(), _SHOWN))
    message += describe_left_out(found, late, request.selection)
    ref = open_ref(env, window, latest_generation(env.ledger, window.id), status="read", message=message)
    return _with_counts(ref, found, late)


def _with_counts(ref: WindowRef, found: Discovered, late: LateFiles) -> WindowRef:
    return dataclasses.replace(ref, ignored=found.ignored, left_out=left_out(found, late))


def _waiting(env: Environment, feed: str) -> str:
    """Return what a reader of "nothing new" must know: files that earlier runs hold and have not published."""
    left = unpublished_windows(env.ledger, feed)
    if not left:
        return ""
    files = sum(window.files for window in left)
    return f"; {files:,} files wait in {len(left)} unpublished windows, the oldest {left[0].key!r}: clear their runs"


def group_limits(request: PlanRequest) -> GroupLimits:
    """Return how the request's files are cut and packed; a format that cannot be split makes one block a file."""
    splittable = make_format(request.generation.record_format).splittable
    return GroupLimits(
        block_size=parse_size(request.splitting.block_size) if splittable else _WHOLE,
        group_bytes=parse_size(request.splitting.group_bytes),
        max_groups=request.splitting.max_groups,
        splittable=splittable,
    )


class Chosen:
    """The files of a new window: ids and sums in the first pass, versions streamed again in the second."""

    def __init__(self, env: Environment, request: PlanRequest, block_size: int) -> None:
        self._env, self._request, self._block_size = env, request, block_size
        self.ids = array("q")
        self.bytes = 0
        self.late = 0  # files of another interval
        self.in_parts: dict[int, PendingFile] = {}  # by file
        for pending in self._select(request.selection):
            part = pending.part
            self.ids.append(pending.file)
            self.bytes += pending.version.size if part is None else part.end - part.start
            self.late += pending.late
            if part is not None:
                self.in_parts[pending.file] = pending

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
            block_size=self._block_size,
            whole=lambda path: request.generation.record_format.codec(path) is not None,
        )

    def parts(self) -> Iterator[Part]:
        """Yield the chosen files again, in the same order; files that arrived since are left for the next window."""
        position = 0
        # The ids are chosen already: files that have come or grown old since must not move the limits.
        rest = dataclasses.replace(self._request.selection, limits=Limits(), max_age=None)
        for pending in self._select(rest):
            if position == len(self.ids):
                return
            if pending.file == self.ids[position]:
                position += 1
                yield part_of(self.in_parts.get(pending.file, pending), self._request.generation.record_format)
        if position < len(self.ids):
            msg = f"feed {self._request.feed}: another planner took file {self.ids[position]} first; plan again"
            raise PlanConflictError(msg)


def _ref(env: Environment, request: PlanRequest, *, status: str, message: str) -> WindowRef:
    env.log(message)
    return WindowRef(
        ledger=env.ledger.uuid,
        feed=request.feed,
        window=window_id(request.feed, request.key),
        key=request.key,
        status=status,
        message=message,
    )
