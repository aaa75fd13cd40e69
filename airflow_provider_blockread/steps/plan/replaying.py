"""Replaying a window that was planned before: resumed, left alone, or read again as a new generation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from airflow_provider_blockread.blocks.ids import options_digest
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.upkeep.requests import was_requested
from airflow_provider_blockread.ledger.windows.correcting import start_corrected
from airflow_provider_blockread.ledger.windows.generations import (
    FINISHED,
    as_read_by,
    latest_generation,
    list_generations,
    list_groups,
    recount_clears,
    replace_lost,
    start_generation,
)
from airflow_provider_blockread.ledger.windows.parts import giving_up_parts
from airflow_provider_blockread.ledger.windows.progress import require_idle
from airflow_provider_blockread.ledger.windows.selection import window_files
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.records.registry import make_format
from airflow_provider_blockread.steps.excluding import exclude
from airflow_provider_blockread.steps.journal import Journal, undo_incomplete
from airflow_provider_blockread.steps.model import Environment, PlanRequest, WindowRef
from airflow_provider_blockread.steps.plan.choosing import Chosen, choose_newer
from airflow_provider_blockread.steps.plan.cleaned import require_sources
from airflow_provider_blockread.steps.plan.discovering import scope_of
from airflow_provider_blockread.steps.plan.replacing import describe_newer, is_unseen, plan_newer, without_plan
from airflow_provider_blockread.steps.plan.restoring import ensure_manifest, restore_pruned
from airflow_provider_blockread.steps.read.checking import check_scope
from airflow_provider_blockread.steps.read.scanning import spans_groups


def replay(env: Environment, request: PlanRequest, options: GenerationOptions, window: Window) -> WindowRef:
    """Return the open window of the request's key, at the generation to read or that is published.

    A new generation is started by changed options, by clearing a published window, by the loss of files that were about
    to be published or their refusal by the output, and by clearing an unpublished window of which a file has changed:
    its newer version is then read. A half published generation is completed first, since readers must not be left with
    a half.

    Raises:
        CleanedError: when files that would be read again were cleaned from the source; nothing is changed then.
        OptionsError: when a changed file is read in part, or is now too small for its blocks; when a function needs the
            window in one group; or when the window belongs to another task, to another item of the list over which
            this one is mapped, or to another DAG with another output.
        StateError: when another window has taken the newer version of a file.
    """
    _recount_clears(env, request, window)
    latest = latest_generation(env.ledger, window.id)
    _require_own(request, window, latest)
    _require_output(request, options, window, latest)
    _require_item(env, request, options, window, latest)
    wanted = options.to_json()
    changed = options_digest(wanted) != latest.options_digest and not _is_handed_over(env, request, latest)
    cleared = _asks_again(env, request, latest)
    rule = options.policies.on_rerun
    note = "; its options have changed since: clear the run to rebuild it" if changed else ""
    if latest.state in FINISHED and (not cleared or rule == "skip"):
        return open_ref(
            env, window, latest, status="published", message=f"window {window.id} is published already{note}"
        )
    check_scope(window, options)
    publishing = latest.state == "publishing"
    hindrance = Journal(env, window, latest).hindrance(changed=changed) if publishing else ""
    if publishing and not hindrance:
        message = f"window {window.id} is half published, its commit continues{note}"
        return open_ref(env, window, latest, status="read", message=message)
    # An unfinished verification exists beside a published generation, so a clear may still request either.
    verified = latest.state in FINISHED or (latest.mode == "verify" and (cleared or changed))
    chooses = cleared and is_unseen(env, window)
    latest, newer = _choose_again(env, request, options, window, latest) if chooses else (latest, None)
    publishing = latest.state == "publishing"
    if not (verified or publishing or changed or newer):
        return open_ref(env, window, latest, status="read", message=f"window {window.id} is resumed")
    why = f"options have changed since generation {latest.number}"
    if verified or (newer and not changed and not publishing):
        why = f"window {window.id} {'was cleared' if request.clear_number else 'is reprocessed'}"
    elif publishing:
        why = f"generation {latest.number} {hindrance}"
    _require_replayable(env, request, options, window, latest)
    mode = "write" if rule == "rebuild" or not verified else "verify"
    restore_pruned(env, window)
    asked: dict[str, Any] = {"options": wanted, "clear_number": request.clear_number, "run": request.run}
    message = f" to {rule} it" if verified else ""
    if newer:
        started = _start_corrected(env, window, latest, newer, asked, keeps=not changed)
        message = f" and reads {describe_newer(newer.newer)}"
    elif publishing:
        started = replace_lost(env.ledger, latest, asked)
    else:
        started = start_generation(env.ledger, window.id, mode=mode, **asked)
    return open_ref(env, window, started, status="read", message=f"{why}: generation {started.number} starts{message}")


def _require_own(request: PlanRequest, window: Window, latest: Generation) -> None:
    """Refuse a window that another task of the same run has planned: its files are not those of this task."""
    # Later generations may be of a run whose task had another name when it planned the window.
    is_of_run = latest.number == 1 and (latest.run, latest.clear_number) == (request.run, request.clear_number)
    if is_of_run and window.owner != request.owner and window.owner.startswith(f"{request.run}/"):
        msg = (
            f"feed {window.feed}: {window.owner} has planned window {window.key!r} in this run; give each task a window"
            " of its own, as window='{{ run_id }}/{{ ti.map_index }}' does for mapped ones, or a feed"
        )
        raise OptionsError(msg)


def _require_output(request: PlanRequest, options: GenerationOptions, window: Window, latest: Generation) -> None:
    """Refuse a window of a command or of another DAG's run with another output, which would not get its rows."""
    before, now = latest.as_options().sink.place, options.sink.place
    if before == now or (request.run is not None and latest.run is not None and _dag(request.run) == _dag(latest.run)):
        return
    if latest.run is not None:
        msg = (
            f"feed {window.feed}: window {window.key!r} was read by run {latest.run} into {before}, and this run would"
            f" move its rows to {now}; clear that run to rebuild it, or read these files under another feed name"
        )
        raise OptionsError(msg)
    msg = (
        f"feed {window.feed}: window {window.key!r} was begun for output {before}, not {now}; finish it with that"
        f" output, give it up with `blockread windows abandon {window.id}`, or read these files under another feed name"
        " (--name)"
    )
    raise OptionsError(msg)


def _require_item(
    env: Environment, request: PlanRequest, options: GenerationOptions, window: Window, latest: Generation
) -> None:
    """Refuse the window of another item of the list over which a task is mapped, if the list has changed since.

    The key has only the task's place in the list; the item there now has other files, or another output.
    """
    if not request.mapped:
        return
    before = latest.as_options().sink.place
    held = next(window_files(env.ledger, window.id, order="oldest"), None)  # all were taken from one source
    if before == options.sink.place and (held is None or scope_of(request)(held.version.path)):
        return
    file = f"{held.version.path}, " if held else ""
    msg = (
        f"feed {window.feed}: the list over which this task is mapped has changed, since window {window.key!r} is that"
        f" of another item: {file}read into {before}; list the items in their earlier order, new ones last, and clear"
        " the run again. Name the windows of new runs by their items, as window='{{ run_id }}/{{ task.source.uris }}'."
        f" If only the item's output has moved, `blockread windows rebuild {window.id}` reads the window again, for the"
        " earlier place"
    )
    raise OptionsError(msg)


def _require_replayable(
    env: Environment, request: PlanRequest, options: GenerationOptions, window: Window, latest: Generation
) -> None:
    """Refuse to change a window that this task may not, or cannot, read with these options."""
    _require_free(env, request, latest)
    _require_parts(env, options, window)
    require_sources(env, window)


def _require_free(env: Environment, request: PlanRequest, latest: Generation) -> None:
    """Refuse to fence another run that is at work."""
    is_own = request.run == latest.run if request.run is not None else request.clear_number > latest.clear_number
    if not is_own:
        require_idle(env.ledger, latest, owner=request.owner)


def _require_parts(env: Environment, options: GenerationOptions, window: Window) -> None:
    """Refuse to read a part of a file by a format that reads files whole."""
    fmt = make_format(options.record_format)
    if fmt.splittable:
        return
    found = next(window_files(env.ledger, window.id, order="oldest"), None)  # those in parts come first
    if found is not None and found.part is not None:
        msg = (
            f"window {window.id} reads bytes {found.part.start} to {found.part.end} of {found.version.path}, and format"
            f" {fmt.name} reads files whole; use the format that the window was planned with, or give these windows up,"
            f" in this order: {', '.join(giving_up_parts(env.ledger, found.file))}"
        )
        raise OptionsError(msg)


def _dag(run: str) -> str:
    return run.partition("/")[0]


def _choose_again(
    env: Environment, request: PlanRequest, options: GenerationOptions, window: Window, latest: Generation
) -> tuple[Generation, Chosen | None]:
    """Return which files are read in newer versions; files for which this is impossible are excluded if policy allows.

    The generation is the latest one, or what takes its place if that was half published and leaves files out.

    Raises:
        StateError: when another window continues after the part of a file that should be excluded.
    """
    ensure_manifest(env, as_read_by(window, latest), request)
    found = choose_newer(env, window, latest)
    if found is None or request.generation.policies.on_changed != "exclude":
        return latest, found
    left = without_plan(env, window, latest, found.newer)
    if left:
        _require_replayable(env, request, options, window, latest)
    if left and latest.state == "publishing":
        # Its successor keeps its run and clear, so that a retry still counts as cleared.
        asked: dict[str, Any] = {name: getattr(latest, name) for name in ("options", "clear_number", "run")}
        latest = replace_lost(env.ledger, latest, asked)
    for version in left:
        exclude(env, window, version.found.path, reason="changed", who=request.owner)
    newer = tuple(version for version in found.newer if version not in left)
    return latest, replace(found, newer=newer, files=len(newer)) if newer else None


def _start_corrected(
    env: Environment, window: Window, latest: Generation, newer: Chosen, asked: dict[str, Any], *, keeps: bool
) -> Generation:
    """Start a generation that reads newer versions; it keeps the results of other groups if these are still valid."""
    plan = plan_newer(env, window, latest, newer.newer)
    lost = latest.number if latest.state == "publishing" else None
    again = newer.again if keeps and lost is None and plan.holders is not None else None
    return start_corrected(env.ledger, window.id, plan, row=asked, again=again, lost=lost)


def _asks_again(env: Environment, request: PlanRequest, latest: Generation) -> bool:
    """Return whether the run requests the published window again: it was cleared since its last request.

    Airflow reprocesses a partition in a new backfill run, which was never cleared: then it suffices that another run
    of the DAG has requested the window before.
    """
    if request.run is None:
        return request.clear_number > latest.clear_number
    asked = [(g.run, g.clear_number) for g in list_generations(env.ledger, latest.window) if g.run is not None]
    mine = [number for run, number in asked if run == request.run]
    if mine:
        return request.clear_number > max(mine)
    again = request.reprocesses and any(_dag(run) == _dag(request.run) for run, _ in asked)
    return again or request.clear_number > 0  # other runs count their own clears


def _recount_clears(env: Environment, request: PlanRequest, window: Window) -> None:
    """Let the clears of a run that was made again count, though one of that name was cleared more often before."""
    if request.run is None:
        return
    asked = (found.clear_number for found in list_generations(env.ledger, window.id) if found.run == request.run)
    if request.clear_number < max(asked, default=0):
        recount_clears(env.ledger, request.run, request.clear_number)


def _is_handed_over(env: Environment, request: PlanRequest, latest: Generation) -> bool:
    """Return whether the generation was begun for this clear of the run, which then reads it with its own options."""
    mine = (latest.run, latest.clear_number) == (request.run, request.clear_number)
    return request.run is not None and mine and was_requested(env.ledger, latest)


def open_ref(env: Environment, window: Window, generation: Generation, *, status: str, message: str) -> WindowRef:
    """Return the reference of an open window at one of its generations.

    Call this before a generation is begun or resumed, so that readers are not left with half of a superseded one: an
    earlier caller may have died halfway.
    """
    env.observer.log(message)
    if generation.state in {"reading", "failed", "proven"}:
        undo_incomplete(env, window)
    options = generation.as_options()
    groups = list_groups(env.ledger, window.id, generation.number)
    return WindowRef(
        ledger=env.ledger.uuid,
        feed=window.feed,
        window=window.id,
        key=window.key,
        status=status,
        generation=generation.number,
        mode=generation.mode,
        groups=window.groups,
        files=window.files,
        blocks=window.blocks,
        bytes=sum(group.planned.bytes for group in groups) or window.bytes,
        needs_scan=spans_groups(groups, options),
        message=message,
    )
