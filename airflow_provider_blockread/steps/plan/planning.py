"""Plan: find the window of a key, or freeze a new one. Only the metadata of files is read."""

from __future__ import annotations

import dataclasses
import time
from functools import partial
from itertools import islice

from airflow_provider_blockread.blocks.ids import digest
from airflow_provider_blockread.errors import BlockReadError, OptionsError, PlanConflictError, PlannerBusyError
from airflow_provider_blockread.exchange.layout import window_folder
from airflow_provider_blockread.exchange.manifest import render_manifest
from airflow_provider_blockread.heap import settled_heap
from airflow_provider_blockread.ledger.feeds import require_feed
from airflow_provider_blockread.ledger.files.unread import backlog
from airflow_provider_blockread.ledger.model import Discovered, LateFiles, NewWindow, Window
from airflow_provider_blockread.ledger.overview import unfinished
from airflow_provider_blockread.ledger.overview.windows import open_windows
from airflow_provider_blockread.ledger.windows.generations import as_read_by, latest_generation
from airflow_provider_blockread.ledger.windows.planning import Planner, claim_window, find_window, release_stale_plans
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import FrameFunction, GenerationOptions, moment, utc_text
from airflow_provider_blockread.options.parsing.sizes import first_of, format_bytes, plural
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.spark.frames.types import as_frame
from airflow_provider_blockread.spark.tasks.audit import check_date
from airflow_provider_blockread.spark.tasks.user_function import declared_schema, with_places
from airflow_provider_blockread.steps.describe import describe_part, describe_readers
from airflow_provider_blockread.steps.model import Environment, PlanRequest, WindowRef
from airflow_provider_blockread.steps.plan.discovering import (
    describe_left_out,
    discover,
    find_late,
    keep_named,
    left_out,
)
from airflow_provider_blockread.steps.plan.reopening import of_interval
from airflow_provider_blockread.steps.plan.replaying import open_ref, replay
from airflow_provider_blockread.steps.plan.restoring import ensure_manifest, manifest_identity
from airflow_provider_blockread.steps.plan.taking import Taken
from airflow_provider_blockread.steps.read.inferring import infers_columns
from airflow_provider_blockread.steps.separation import (
    check_apart,
    check_ledger,
    check_place,
    check_read_once,
    check_table_apart,
    record_ledger,
)
from airflow_provider_blockread.storage.listing.roots import bounds_of

_CHANGES = 4  # times that files are chosen again because another planner has taken some
_TURN_S = 0.1  # between two checks whether the previous planner is done
_SHOWN = 3  # parts, or windows, that a message names


def plan(env: Environment, request: PlanRequest) -> WindowRef:
    """Return the window of the request's key: the one that was planned before, or a new one, frozen now.

    While another planner of the feed is at work, a new window waits for it; a planner that died, or whose heartbeat is
    stale, is taken over.

    For an open window the source is never listed again. If it is unpublished it is resumed, in a new generation if
    options have changed; if it is published, a higher `clear_number` requests what `policies.on_rerun` says (see
    `replay`). With `late="reopen"`, late files of a published interval get another window (see `of_interval`).

    Raises:
        OptionsError: when the key is blank, or the source would take what is published as its input.
        SourceError: when a root is missing or cannot be listed.
        WrongLedgerError: when another ledger published this feed's files into the output, or this one before it was
            restored from an older backup.
        ExchangeError: when the manifest of an unpublished window is lost, and the request would not make the same one.
        PlanConflictError: when another planner took the window or its files first.
        ProofError: when the sums over the plan's groups differ from those of the chosen files.
    """
    ref = _plan(env, request)
    _measure_backlog(env, request.feed)
    return ref


def _plan(env: Environment, request: PlanRequest) -> WindowRef:
    check_key(request)
    options = canonical_options(env, request)
    check_schemas(options)
    env.sink(options.sink)  # loads a custom sink, and refuses an invalid one
    request = of_interval(env, request)
    window = find_window(env.ledger, request.feed, request.key)
    if window is not None and window.state == "open":
        ref = replay(env, request, options, window)
        _restore_manifest(env, request, window, published=ref.status == "published")
        return keep_named(env, request, ref)
    if window is not None and window.state == "abandoned":
        message = (
            f"window {window.id} and its key {window.key!r} were abandoned; a run with another key takes its files"
        )
        return keep_named(env, request, _ref(env, request, status="skipped", message=message))
    if request.replay_only:
        message = (
            f"feed {request.feed} takes files as they arrive and has no window {request.key!r} to replay;"
            " use select='interval' to backfill by the files' times"
        )
        return _ref(env, request, status="skipped", message=message)
    with settled_heap():
        return _plan_new(env, request, options)


def _restore_manifest(env: Environment, request: PlanRequest, window: Window, *, published: bool) -> None:
    """Write the manifest of an open window again if it is lost; what is published needs it only to be read again."""
    if published and window.pruned_at is not None:
        return
    read_now = as_read_by(window, latest_generation(env.ledger, window.id))
    try:
        ensure_manifest(env, read_now, request)
    except BlockReadError as error:
        if not published:
            raise
        env.observer.warn(str(error))


def _measure_backlog(env: Environment, feed: str) -> None:
    """Report what waits for the next window."""
    waiting = backlog(env.ledger, feed)
    env.observer.gauge("plan.backlog_files", waiting.files)
    env.observer.gauge("plan.backlog_bytes", waiting.bytes)
    env.observer.gauge("plan.backlog_age_s", env.age_s(waiting.oldest_ns))


def check_key(request: PlanRequest) -> None:
    """Refuse a blank key, because all runs with it would share one window.

    Raises:
        OptionsError: naming the feed.
    """
    if not request.key.strip():
        msg = f"feed {request.feed}: the window's key is blank; give it a value that names the run's data"
        raise OptionsError(msg)


def check_schemas(options: GenerationOptions) -> None:
    """Refuse a malformed schema before anything is planned, and not only when it is used.

    Raises:
        OptionsError: naming the schema.
    """
    fmt = make_format(options.record_format)
    if not infers_columns(options.record_format):
        schema = with_places(options.function, fmt.decoder().schema)
        if isinstance(options.function, FrameFunction):
            as_frame(schema)
    declared_schema(options.function)


def canonical_options(env: Environment, request: PlanRequest) -> GenerationOptions:
    """Return the options with places that mean the same in every process, and the bounds of links and redirects."""
    sink = request.generation.sink.anywhere(env.stores.canonical)
    return dataclasses.replace(request.generation, sink=sink, bounds=bounds_of(request.source))


def _plan_new(env: Environment, request: PlanRequest, options: GenerationOptions) -> WindowRef:
    check_date(options.sink, request.key)
    check_apart(request, options.sink)
    check_ledger(env, request.feed, options.sink)
    check_place(env, options.sink)
    # Before the listing: files of a planner that died wait again, as does the rest of a file of which it took a part.
    release_stale_plans(env.ledger, request.feed, owner=request.owner)
    found = discover(env, request)
    check_read_once(env, request, options.sink)
    for _ in range(_CHANGES):
        try:
            return _choose_and_freeze(env, request, options, found)
        except PlanConflictError as conflict:
            window = find_window(env.ledger, request.feed, request.key)
            if window is not None and window.state != "empty":  # another planner has the key, not only some files
                raise
            env.observer.log(f"{conflict}; choosing again from what is left")
    return _choose_and_freeze(env, request, options, found)


def _claim(env: Environment, request: PlanRequest) -> Planner:
    """Return the right to plan the key, once no other planner of the feed is at work; dead planners are ignored."""
    waited = False
    while True:
        release_stale_plans(env.ledger, request.feed, owner=request.owner)
        try:
            return claim_window(
                env.ledger,
                request.feed,
                request.key,
                owner=request.owner,
                run=request.run,
                interval_ns=request.interval_ns,
            )
        except PlannerBusyError as busy:
            if not waited:
                env.observer.log(f"{busy}; waiting for it")
            waited = True
            time.sleep(_TURN_S)


def _choose_and_freeze(
    env: Environment, request: PlanRequest, options: GenerationOptions, found: Discovered
) -> WindowRef:
    key = request.window
    with _claim(env, request) as planner:
        chosen = Taken(env, request, planner)
        manifest, summary = chosen.plan(partial(render_manifest, identity=manifest_identity(env, key, request.feed)))
        late = find_late(env, request)
        if not chosen.ids:
            rest = describe_left_out(request, found, late)
            message = f"window {key}: nothing new to read{_when(request)}{_waiting(env, request.feed)}{rest}"
            return _with_counts(_ref(env, request, status="empty", message=message), found, late)
        chosen.check(summary)
        check_table_apart(env, request, options.sink)  # late, since it queries a catalog
        folder = window_folder(options.sink.work_area, request.feed, key)
        uri = f"{folder}/manifest-{digest(*chosen.identity, str(chosen.limits))[:12]}.parquet"
        planner.announce(uri)
        env.stores.write_bytes_atomic(uri, manifest)
        record_ledger(env, request.feed, options.sink)
        planner.open(
            NewWindow(
                manifest_uri=uri,
                manifest_hash=summary.hash,
                files=len(chosen.ids),
                blocks=summary.blocks,
                bytes=summary.bytes,
                groups=summary.groups,
                readers=chosen.readers,
                options=options.to_json(),
                clear_number=request.clear_number,
                run=request.run,
                parts=chosen.ranges,
            )
        )
    blocks = plural(summary.blocks, "block")
    message = f"window {key}: {plural(len(chosen.ids), 'file')}, {format_bytes(summary.bytes)}, {blocks}"
    if chosen.choice is not None:
        message += f", {describe_readers(chosen.choice)}"
    if chosen.late:
        message += f"; {chosen.late:,} of the files came too late for their own interval (late='next')"
    for pending in chosen.in_parts.values():
        env.observer.log(f"window {key}: {pending.version.path}: {describe_part(pending)}")
    message += "".join(f"; {describe_part(pending)}" for pending in islice(chosen.in_parts.values(), _SHOWN))
    message += f"{_waiting(env, request.feed, left=True)}{describe_left_out(request, found, late)}"
    window = get_window(env.ledger, key)
    ref = open_ref(env, window, latest_generation(env.ledger, key), status="read", message=message)
    return _with_counts(ref, found, late)


def _with_counts(ref: WindowRef, found: Discovered, late: LateFiles) -> WindowRef:
    return dataclasses.replace(ref, ignored=found.ignored, left_out=left_out(found, late))


def _when(request: PlanRequest) -> str:
    """Return the interval of a window's files, if it has one: those of other times may have just been listed."""
    if request.interval_ns is None:
        return ""
    start, end = (utc_text(moment(bound)) for bound in request.interval_ns)
    return f" from {start} to {end}"


def _waiting(env: Environment, feed: str, *, left: bool = False) -> str:
    """Return which earlier windows hold files and are not published, all of them or those that were `left`."""
    feed_id = require_feed(env.ledger, feed)
    with env.ledger.reading() as connection:
        checked = open_windows(connection, env.ledger.now(), of=[feed_id])
    unpublished = [row for row in reversed(checked) if row.window.state == "open" and row.shown is None]
    found = [row for row in unpublished if row.progress.is_left or not left]
    if not found:
        return ""
    files = sum(row.window.files for row in found)
    named = first_of((f"{row.window.key!r} {row.progress}" for row in found), _SHOWN)
    remedy = "; clear the runs of those that failed or stalled, or abandon those whose runs are gone"
    if not any(row.progress.is_left for row in found):
        remedy = ""
    held = plural(len(found), "unpublished window")
    if len(checked) >= unfinished.MOST_OPEN:
        held = f"{len(found):,} or more unpublished windows"
    return f"; {plural(files, 'file waits', 'files wait')} in {held}: {named}{remedy}"


def _ref(env: Environment, request: PlanRequest, *, status: str, message: str) -> WindowRef:
    env.observer.log(message)
    return WindowRef(
        ledger=env.ledger.uuid,
        feed=request.feed,
        window=request.window,
        key=request.key,
        status=status,
        message=message,
    )
