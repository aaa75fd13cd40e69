"""Rebuild and reprocess: published windows are read again, whole or in part, in the order of their planning.

A rebuild reads all groups of a window; reprocessing files reads the groups that contain them, and the new generation
takes over the results of the others: their receipts are proven again, and their published files stay where they are. An
unpublished window is reprocessed only if it is named: changed files are read as they are now.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from airflow_provider_blockread.errors import BlockReadError, CleanedError, OptionsError
from airflow_provider_blockread.ledger.files.cleaned import count_away
from airflow_provider_blockread.ledger.model import Generation, Request, Window
from airflow_provider_blockread.ledger.schema.columns import UNFINISHED_STATES
from airflow_provider_blockread.ledger.upkeep.requests import (
    find_request,
    finish_request,
    open_request,
    requested_generations,
    start_requested,
)
from airflow_provider_blockread.ledger.windows.exclusions import without_excluded
from airflow_provider_blockread.ledger.windows.generations import (
    latest_generation,
    list_generations,
    published_generation,
    replace_lost,
)
from airflow_provider_blockread.ledger.windows.progress import window_progress
from airflow_provider_blockread.ledger.windows.queries import files_with_bad_records, get_window, windows_in_order
from airflow_provider_blockread.options.parsing.sizes import first_of, plural
from airflow_provider_blockread.steps.intent import Intent, WindowIntent, window_intent
from airflow_provider_blockread.steps.journal import Journal
from airflow_provider_blockread.steps.model import Environment, Published, WindowRef
from airflow_provider_blockread.steps.plan.choosing import FileChoice, choose
from airflow_provider_blockread.steps.plan.cleaned import require_sources
from airflow_provider_blockread.steps.plan.replacing import (
    correction_intent,
    describe_groups,
    foreseen_failures,
    is_outdated,
    is_unseen,
    plan_newer,
)
from airflow_provider_blockread.steps.plan.replaying import open_ref
from airflow_provider_blockread.steps.plan.restoring import restore_pruned, without_plan
from airflow_provider_blockread.steps.read.submitting import require_code
from airflow_provider_blockread.steps.running import WindowRunner

_NAMED = 20  # windows that a message names


@dataclass(frozen=True, kw_only=True)
class WindowRange:
    """Which windows: the one that is named, or a feed's windows between two times or two keys.

    Times are those of planning, `since` inclusive, `until` exclusive; keys are compared as texts, both inclusive.
    """

    window: str | None = None  # an id or a key
    feed: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    first_key: str | None = None
    last_key: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return this range as JSON, times in UTC."""
        times = {name: time.astimezone(UTC).isoformat() for name in ("since", "until") if (time := getattr(self, name))}
        return dataclasses.asdict(self) | times

    def windows(self, env: Environment) -> list[Window]:
        """Return the windows that are meant, in the order of their planning.

        Raises:
            OptionsError: when a range has no feed, or a window beside it, or a named feed or window does not exist.
        """
        is_range = (self.since, self.until, self.first_key, self.last_key) != (None,) * 4
        if self.window is not None and not is_range:
            return [get_window(env.ledger, self.window, self.feed)]
        if self.feed is None or self.window is not None:
            msg = "name a window, or a feed with --feed; --since, --until, --from and --to go with a feed alone"
            raise OptionsError(msg)
        return [window for window in windows_in_order(env.ledger, self.feed) if self._holds(window)]

    def _holds(self, window: Window) -> bool:
        return (
            (self.since is None or window.created_at >= self.since)
            and (self.until is None or window.created_at < self.until)
            and (self.first_key is None or window.key >= self.first_key)
            and (self.last_key is None or window.key <= self.last_key)
        )


@dataclass(frozen=True, kw_only=True)
class RebuildRequest:
    """Which windows to read again, and which of their files: None for all.

    `task` is the Airflow task that requests it: the same request of another run is a different request.
    """

    range: WindowRange
    files: FileChoice | None = None
    task: str | None = None

    @property
    def action(self) -> str:
        """The name of the action."""
        return "rebuild" if self.files is None else "reprocess"

    def to_json(self) -> dict[str, Any]:
        """Return this request as JSON; requests with equal JSON are the same."""
        files = {} if self.files is None else {"files": self.files.to_json()}
        return self.range.to_json() | files | ({} if self.task is None else {"task": self.task})


def propose_rebuild(env: Environment, asked: RebuildRequest, *, restarts: bool = False) -> Intent:
    """Return what `rebuild` would do (after `give_up_rebuild` if it `restarts`), without changing anything.

    Raises:
        OptionsError: when the range is invalid, or the ledger knows no such feed.
    """
    begun = find_request(env.ledger, asked.action, asked.to_json())
    intents = tuple(intent for _, intent in _intents(env, asked, None if restarts else begun))
    notes = []
    if begun is not None:
        does = "gives up" if restarts else "continues with"
        notes = [f"This {does} the {asked.action} that {begun.who} began at {begun.began_at:%Y-%m-%d %H:%M:%SZ}."]
    return Intent(action=asked.action, windows=intents, notes=tuple(notes))


def give_up_rebuild(env: Environment, asked: RebuildRequest) -> None:
    """Discard the progress of this request: the next one covers all of its windows."""
    begun = find_request(env.ledger, asked.action, asked.to_json())
    if begun is not None:
        finish_request(env.ledger, begun)


def rebuild(env: Environment, asked: RebuildRequest, runner: WindowRunner) -> list[Published]:
    """Read, prove and publish a new generation of each requested published window, and return the publications.

    The first failure stops it. The same call continues with the rest: windows that it has rebuilt stay as they are,
    and one that was being read is resumed. What is published of a window stays until its new generation is proven.

    Raises:
        OptionsError: when the range is invalid, or a function is in a DAG's file; nothing is begun then.
        CleanedError: when files that would be read were cleaned from the source; nothing is begun then.
        BlockReadError: the error of the current window, with what is done and how to continue.
    """
    begun = find_request(env.ledger, asked.action, asked.to_json())
    todo = [window for window, intent in _intents(env, asked, begun) if intent.does]
    for window in todo:  # before anything is touched
        require_readable(env, window, asked.files)
    request = open_request(env.ledger, asked.action, asked.to_json(), who=runner.owner)
    done: list[Published] = []
    for window in todo:
        try:
            done.append(runner.run(_begin(runner, request, window, asked.files)))
        except BlockReadError as error:
            before, left = [found.window for found in done], [found.id for found in todo[len(done) + 1 :]]
            why = str(error).replace("\n", " | ")
            others = (
                f" (done before it: {first_of(before, _NAMED) or 'none'}; left: {first_of(left, _NAMED) or 'none'})"
                if before or left
                else ""
            )
            msg = (
                f"{asked.action} of window {window.id} {window.key!r} failed{others}: {why}. Fix the cause and repeat"
                " the command: it continues from this window"
            )
            raise type(error)(msg) from error
    finish_request(env.ledger, request)
    return done


def _intents(env: Environment, asked: RebuildRequest, begun: Request | None) -> Iterator[tuple[Window, WindowIntent]]:
    """Yield each requested window with what will be done about it; windows without a requested file are skipped."""
    started = {} if begun is None else requested_generations(env.ledger, begun)
    for window in asked.range.windows(env):
        if begun is None or window.created_at <= begun.began_at:
            mine = started.get(window.id)
            if asked.files is not None and asked.range.window is not None and is_unseen(env, window):
                intent: WindowIntent | None = correction_intent(env, window, mine, asked.files)
            else:
                intent = _intent(env, window, mine, asked.files)
            if intent is not None:
                yield window, intent


def _intent(env: Environment, window: Window, mine: Generation | None, files: FileChoice | None) -> WindowIntent | None:
    shown = published_generation(env.ledger, window.id) if window.state == "open" else None
    why = _left_alone(env, window, mine, shown)
    if why or shown is None:
        return window_intent(window, why, does=False)
    latest = latest_generation(env.ledger, window.id)
    resumed = mine is not None and mine.number == latest.number
    number = latest.number if resumed else list_generations(env.ledger, window.id)[-1].number + 1
    chosen = None if files is None else choose(env, window, shown, files)
    if files is not None and chosen is not None and not chosen.files and not resumed:
        return _forgotten(env, window, shown, files)
    read = without_excluded(env.ledger, window, number)
    what = (
        f"{describe_groups(read, chosen)} as generation {number}, which replaces generation {shown.number}"
        f" ({plural(shown.sums.rows, 'row')}) when proven"
    )
    warnings = [] if chosen is None else list(foreseen_failures(env, window, chosen))
    try:
        require_readable(env, window, files, dry_run=True)
    except (CleanedError, OptionsError) as error:
        warnings.append(f"this will fail: {error}")
    if latest.state in UNFINISHED_STATES and not resumed:
        fate = "is completed first" if latest.state == "publishing" else "is dropped"
        what += f"; generation {latest.number}, now {window_progress(env.ledger, window.id).dated}, {fate}"
    return window_intent(window, what, warnings=tuple(warnings))


def _left_alone(env: Environment, window: Window, mine: Generation | None, shown: Generation | None) -> str:
    """Return why nothing is done about a window, or an empty string if something is."""
    if mine is not None and mine.published_at is not None:
        return f"done already, as generation {mine.number}"
    if shown is None:
        unpublished = "not published but " if window.state == "open" else ""
        return f"left alone, since it is {unpublished}{window_progress(env.ledger, window.id).dated}"
    return without_plan(env, window, shown)


def _forgotten(env: Environment, window: Window, shown: Generation, files: FileChoice) -> WindowIntent | None:
    """Return the intent to leave a window alone whose bad records are in files that the ledger no longer knows."""
    if files.status == "done" or not shown.sums.bad_records or files_with_bad_records(env.ledger, window.id):
        return None
    what = (
        f"left alone: {shown.sums.bad_records:,} of its records are bad, but in which files was pruned; choose files by"
        " their path alone, or rebuild the window"
    )
    return window_intent(window, what, does=False)


def _begin(runner: WindowRunner, request: Request, window: Window, files: FileChoice | None) -> WindowRef:
    """Return the window at the generation to read: the one that an earlier call began, or a new one."""
    env = runner.env
    mine = requested_generations(env.ledger, request).get(window.id)
    latest = latest_generation(env.ledger, window.id)
    which, publishing, unseen = f"window {window.id}: generation", latest.state == "publishing", is_unseen(env, window)
    lost = publishing and bool(Journal(env, window, latest).hindrance())
    own = mine is not None and (unseen or mine.number == latest.number)  # an unseen one is resumed in any case
    resumed = own and latest.state in UNFINISHED_STATES and not lost
    if resumed and not publishing and files is not None and _has_changed(env, window, latest, files):
        env.observer.log(f"{which} {latest.number} is given up, since files have changed since it began")
        resumed = False
    if resumed:
        return open_ref(env, window, latest, status="read", message=f"{which} {latest.number} is resumed")
    if publishing and not lost:  # readers must not be left with a half
        message = f"{which} {latest.number} is half published and completed first"
        runner.run(open_ref(env, window, latest, status="read", message=message))
    restore_pruned(env, window)
    if lost:  # if this call dies before the next statement, a retry resumes this one
        asked: dict[str, Any] = {name: getattr(latest, name) for name in ("options", "clear_number", "run")}
        latest = replace_lost(env.ledger, latest, asked, unneeded=count_away(env.ledger, window.id))
    says = "starts"
    if not (lost and unseen):
        latest, says = start_reading(env, request, window, files), f"starts to {request.action} it"
    return open_ref(env, window, latest, status="read", message=f"{which} {latest.number} {says}")


def require_readable(env: Environment, window: Window, files: FileChoice | None, *, dry_run: bool = False) -> None:
    """Make sure that no file to read was cleaned from the source, and that the window's function can be called."""
    shown = published_generation(env.ledger, window.id)
    require_code(env, shown or latest_generation(env.ledger, window.id))
    if not count_away(env.ledger, window.id):
        return
    if files is None or shown is None:
        require_sources(env, window, dry_run=dry_run)
        return
    chosen = choose(env, window, shown, files)
    require_sources(env, window, chosen.again, renewed=chosen.renewed, dry_run=dry_run)


def _has_changed(env: Environment, window: Window, begun: Generation, files: FileChoice) -> bool:
    shown = published_generation(env.ledger, window.id)
    if shown is None:
        return bool(choose(env, window, begun, files).newer)
    return is_outdated(env, begun, choose(env, window, shown, files).newer)


def start_reading(env: Environment, request: Request, window: Window, files: FileChoice | None) -> Generation:
    """Start a generation for a request that reads a window, or some of its files, again; return the generation."""
    if files is None:
        return start_requested(env.ledger, request, window.id)
    shown = published_generation(env.ledger, window.id)
    base = shown or latest_generation(env.ledger, window.id)
    chosen = choose(env, window, base, files)
    unneeded = require_sources(env, window, chosen.again, renewed=chosen.renewed)
    plan = plan_newer(env, window, base, chosen.newer) if chosen.newer else None
    again = None if shown is None and plan is not None and plan.holders is None else chosen.again
    return start_requested(env.ledger, request, window.id, again=again, plan=plan, unneeded=unneeded)
