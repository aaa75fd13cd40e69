"""Abandon and undo: a window is given up, its output is removed, and only then can its files be read again."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_provider_blockread.errors import ConflictError, PrunedError
from airflow_provider_blockread.ledger.files.cleaned import count_away
from airflow_provider_blockread.ledger.model import Generation, Window, Withdrawal
from airflow_provider_blockread.ledger.schema.columns import SHOWN_STATES
from airflow_provider_blockread.ledger.upkeep.withdrawing import (
    begin_abandoning,
    begin_undoing,
    check_abandoning,
    check_undoing,
    find_withdrawal,
    finish_withdrawal,
    release_files,
)
from airflow_provider_blockread.ledger.windows.exclusions import without_excluded
from airflow_provider_blockread.ledger.windows.generations import (
    give_up_generation,
    list_generations,
    list_groups,
    published_generation,
)
from airflow_provider_blockread.ledger.windows.parts import excluded_before
from airflow_provider_blockread.ledger.windows.progress import group_progress, window_progress
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.journal import (
    Journal,
    published,
    remove_outputs,
    require_removable,
    undo_incomplete,
)
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.steps.plan.cleaned import require_sources

_FATES = {
    "pending": ("goes", "go", "back to pending, to be read and published by a later window of the feed"),
    "excluded": ("becomes", "become", "excluded, and no later window reads {}"),
}
_GIVEN_UP = ("reading", "proven", "failed", "superseded")  # states of a rebuild that can be given up, or was
_KEY = "Its key stays in use: a run that plans it again is skipped."


@dataclass(frozen=True, kw_only=True)
class Withdrawn(AsJson):
    """The outcome of giving a window up; the counts are 0 if an earlier call had done everything."""

    window: str
    key: str
    feed: str
    files: int  # whose state this call changed
    files_are: str  # pending | excluded | done (after a rebuild was given up)
    removed: int  # output and quarantine files that this call removed


def propose_abandoning(env: Environment, window: Window) -> Intent:
    """Return what `abandon` would do, without changing anything.

    Raises:
        StateError: when the window is not open, or is at least partly published and not being rebuilt.
        WrongLedgerError: when its output holds a publication that the ledger lacks.
    """
    window = without_excluded(env.ledger, window)
    held = find_withdrawal(env.ledger, window.id)
    if held is not None:
        return _continued(env, "abandon", window, held)
    begun = _rebuild_of(env, window)
    if begun is not None:
        does = begun.state != "superseded"
        state = f", now {window_progress(env.ledger, window.id).dated}, is" if does else " was"
        by = f" by {begun.given_up_by}" if begun.given_up_by else ""
        what = f"generation {begun.number}{state} given up{by}; what is published stays, and so do its files"
        return Intent(action="abandon", windows=(window_intent(window, what, does=does),))
    check_abandoning(env.ledger, window.id)
    require_removable(env, window)
    last = list_generations(env.ledger, window.id)[-1:]
    groups = [group for found in last for group in list_groups(env.ledger, window.id, found.number)]
    what = f"now {window_progress(env.ledger, window.id).dated}; {_files(env, window, 'pending')}"
    done = sum(group.state == "done" for group in groups)
    if done:
        what += f"; the results of {done:,} of {plural(len(groups), 'group')} are discarded"
    running = [group for group in groups if group.state == "running"]
    now = env.ledger.now()
    notes = [f"Group {g.ref.group}, {group_progress(g, now).dated} by {g.owner}, is fenced." for g in running]
    return Intent(action="abandon", windows=(window_intent(window, what),), notes=(*notes, _KEY))


def propose_undoing(env: Environment, window: Window, *, files: str | None = None) -> Intent:
    """Return what `undo` would do, without changing anything.

    Raises:
        StateError: when nothing of the window is published, or its files should be excluded but are back in the feed.
        OwnedError: when a live owner is publishing it.
        PrunedError: when files that should go back were pruned.
        CleanedError: when files that should go back were cleaned from the source.
    """
    if files == "pending":
        require_sources(env, window, dry_run=True)
    held = check_undoing(env.ledger, window.id, files=files)
    window = without_excluded(env.ledger, window)
    if held is not None:
        return _continued(env, "undo", window, held, files)
    require_removable(env, window)
    shown = [found for found in list_generations(env.ledger, window.id) if found.state in SHOWN_STATES]
    places = published(env, window, shown).values()
    found = {uri: file for _, of_place in places for uri, file in of_place.by_uri.items()}
    size, rows = (sum(getattr(file, name) for file in found.values()) for name in ("size", "rows"))
    names = ", ".join(sorted({sink.uri for sink, of_place in places if of_place.by_uri})) or "the output"
    what = (
        f"{plural(len(found), 'published file')} ({format_bytes(size)}, {plural(rows, 'row')})"
        f" {'is' if len(found) == 1 else 'are'} removed from {names}; {_files(env, window, files or 'excluded')}"
    )
    warnings = tuple(
        f"nothing is in {sink.uri}: if it was moved, or its disk is not mounted, what the window has published stays"
        " where it is, and is there twice once the files are read again"
        for sink, of_place in places
        if of_place.by_uri and sink.is_empty()
    )
    return Intent(action="undo", windows=(window_intent(window, what, warnings=warnings),), notes=(_KEY,))


def abandon(env: Environment, window: Window, *, who: str) -> Withdrawn:
    """Return an unpublished window's files to the feed; a repeated call continues where an earlier one stopped.

    For a published window, it only gives up a rebuild that was begun and is not finished.

    Raises:
        StateError: when the window is not open, or is at least partly published and not being rebuilt.
        WrongLedgerError: when its output holds a publication that the ledger lacks.
    """
    begun = _rebuild_of(env, window)
    if begun is not None:
        lost = begun.number if begun.state == "publishing" else None
        given_up = give_up_generation(env.ledger, window.id, lost=lost, who=who)
        undo_incomplete(env, window)  # also of earlier generations that were lost, which nothing else removes
        if given_up is not None or begun.state == "superseded":  # else it was just published
            env.observer.log(f"window {window.id}: generation {begun.number} is given up; what is published stays")
            return Withdrawn(window=window.id, key=window.key, feed=window.feed, files=0, files_are="done", removed=0)
    if find_withdrawal(env.ledger, window.id) is None:
        check_abandoning(env.ledger, window.id)
        require_removable(env, window)
    return _withdraw(env, window, begin_abandoning(env.ledger, window.id, who=who))


def _rebuild_of(env: Environment, window: Window) -> Generation | None:
    """Return the generation of a rebuild of the published one, if it can be given up or has been, or None."""
    shown = published_generation(env.ledger, window.id) if window.state == "open" else None
    newest = list_generations(env.ledger, window.id)[-1:]
    begun = next((found for found in newest if shown is not None and found.number > shown.number), None)
    if begun is None or begun.state in _GIVEN_UP:
        return begun
    cannot_end = begun.state == "publishing" and bool(Journal(env, window, begun).hindrance())
    return begun if cannot_end else None


def undo(env: Environment, window: Window, *, files: str | None = None, who: str) -> Withdrawn:
    """Remove a published window's output, file by file; a repeated call continues where an earlier one stopped.

    Only when nothing of it is left in the output do the files become `pending` or `excluded` (the default: readers of
    the output may already have copied its records, and a later window would give them the same records again).

    Raises:
        StateError: when nothing of the window is published.
        OwnedError: when a live owner is publishing it.
        CleanedError: when files that should go back were cleaned from the source.
    """
    if files == "pending":
        require_sources(env, window)
    if check_undoing(env.ledger, window.id, files=files) is None:  # afterwards, the window could not be read again
        require_removable(env, window)
    return _withdraw(env, window, begin_undoing(env.ledger, window.id, files=files, who=who))


def _withdraw(env: Environment, window: Window, held: Withdrawal) -> Withdrawn:
    moved = removed = 0
    if held.finished_at is None:
        removed = remove_outputs(env, window)
        behind = _stays_excluded(env, window, held.files)
        moved = release_files(env.ledger, held)
        finish_withdrawal(env.ledger, held)
        for warning in behind:
            env.observer.warn(warning)
    done = Withdrawn(
        window=window.id, key=window.key, feed=window.feed, files=moved, files_are=held.files, removed=removed
    )
    what = f"{plural(removed, 'published file')} removed, {plural(moved, 'file')} now {held.files}"
    env.observer.log(f"window {window.id} is abandoned: {what}")
    return done


def _stays_excluded(env: Environment, window: Window, files: str | None) -> tuple[str, ...]:
    """Return warnings about parts that are given back although later parts of the same files stay excluded."""
    return tuple(
        f"What window {window.id} read behind a part in window {before} stays excluded with that part;"
        f" `blockread windows undo {before} --files pending` returns both to the feed."
        for before in (excluded_before(env.ledger, window.id) if files == "pending" else ())
    )


def can_go_back(env: Environment, window: Window) -> bool:
    """Return whether the files of a window that is undone may go back to the feed, as far as the ledger knows."""
    try:
        check_undoing(env.ledger, window.id, files="pending")
    except (ConflictError, PrunedError):
        return False
    return not count_away(env.ledger, window.id)


def _files(env: Environment, window: Window, fate: str) -> str:
    if window.pruned_at is not None:
        return f"no later window reads its {plural(window.files, 'file')}, since their details were pruned"
    it, they, then = _FATES[fate]
    verb, them = (it, "it") if window.files == 1 else (they, "them")
    returns = (
        f" (--files pending returns {them} to the feed)" if fate == "excluded" and can_go_back(env, window) else ""
    )
    return f"its {plural(window.files, 'file')} ({format_bytes(window.bytes)}) {verb} {then.format(them)}{returns}"


def _continued(env: Environment, action: str, window: Window, held: Withdrawal, files: str | None = None) -> Intent:
    """Return what is left to do of a withdrawal that has already begun."""
    notes: tuple[str, ...] = ()
    if held.finished_at is None:
        fate = _files(env, window, files or held.files)
        what = f"{held.who} began to withdraw it, and did not finish: the rest is done now, and {fate}"
    elif files == "pending" and held.files == "excluded":
        what = f"{_files(env, window, 'pending')}; until now excluded"
        notes = _stays_excluded(env, window, files)
    else:
        what = f"abandoned by {held.who} on {held.finished_at:%Y-%m-%d %H:%M:%SZ}, files {held.files}: nothing is left"
        return Intent(action=action, windows=(window_intent(window, what, does=False),))
    return Intent(action=action, windows=(window_intent(window, what),), notes=notes)
