"""Files that were cleaned from the source: checked before a window is read again, and restored from archives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import version_digest
from airflow_provider_blockread.errors import CleanedError, FileMissingError, SourceError
from airflow_provider_blockread.ledger.files.cleaned import (
    SHOWN,
    AwayFile,
    count_away,
    describe_away,
    files_away,
    mark_back,
)
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.schema.columns import SHORT
from airflow_provider_blockread.ledger.windows.generations import published_generation
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.storage.at_once import answers
from airflow_provider_blockread.storage.contents import same_content

_PAGE = 500


@dataclass(frozen=True, kw_only=True)
class Restored(AsJson):
    """How many files are back at the source."""

    window: str
    files: int  # back in their places, unchanged
    away: int  # deleted, or gone from the archive


def require_sources(
    env: Environment,
    window: Window,
    again: Collection[int] | None = None,
    *,
    renewed: Collection[int] = (),
    dry_run: bool = False,
) -> int:
    """Make sure that no file that must be read again was cleaned from the source; return how many others were.

    Files that are back in their places, unchanged, count as restored from now on, unless this is a dry run. Only the
    groups `again` are read, or all without it; `renewed` are the ids of files that are read in a newer version.

    Raises:
        CleanedError: naming the files and where they are; nothing was changed.
    """
    total = count_away(env.ledger, window.id)
    needed: set[int] | None = None
    if total and again is not None:
        shown = published_generation(env.ledger, window.id)
        needed = {block.file for block in env.blocks(window, shown) if block.group in again}
    missing: list[AwayFile] = []
    others = 0
    for page in _pages(env, window.id):
        back = _where(env, page, partial(_is_back, env))
        away = [file for file in page if file.file not in set(back)]
        if back and not dry_run:
            mark_back(env.ledger, back)
        total -= len(back)
        wanted = [f for f in away if (needed is None or f.file in needed) and f.file not in renewed]
        others += len(away) - len(wanted)
        missing += wanted
        if len(missing) > SHOWN and needed is None:
            break  # the others are known to exist without a check
    if missing:
        raise CleanedError(describe_away(window.id, missing, total if needed is None else len(missing)))
    return others


def propose_restoring(env: Environment, window: Window) -> Intent:
    """Return what `restore_files` would do, without changing anything or checking any file."""
    kept = Counter(file.target is not None for page in _pages(env, window.id) for file in page)
    what = f"{plural(kept[True], 'archived file')} to be restored, unless another file is in the place"
    if kept[False]:
        what += f"; {plural(kept[False], 'deleted file')} to be restored by hand"
    if not kept:
        what = "none of its files was archived or deleted"
    return Intent(action="restore", windows=(window_intent(window, what, does=bool(kept)),))


def restore_files(env: Environment, window: Window) -> Restored:
    """Move the window's archived files back to their places, and return how many are there; may be repeated.

    Raises:
        SourceError: when another file has taken a place, or the store gives a restored file another version.
    """
    restored = 0
    for page in _pages(env, window.id):
        back = _where(env, page, partial(_bring_back, env, window))
        restored += len(back)
        if back:
            mark_back(env.ledger, back)
    done = Restored(window=window.id, files=restored, away=count_away(env.ledger, window.id))
    env.observer.log(f"window {window.id}: {plural(done.files, 'file')} restored, {done.away:,} still missing")
    return done


def _where(env: Environment, page: list[AwayFile], holds: Callable[[AwayFile], bool]) -> list[int]:
    """Return the ids of the files for which the function returns True."""
    found = answers(env.stores, page, holds, attrgetter("path"))
    return [file.file for file, is_true in zip(page, found, strict=True) if is_true]


def found_at(env: Environment, uri: str) -> FileVersion | None:
    """Return the version of the file that is there now, or None if there is no file."""
    try:
        return env.stores.stat(uri)
    except FileMissingError:
        return None


def _bring_back(env: Environment, window: Window, file: AwayFile) -> bool:
    """Put a file into its place unless it is there, remove it from the archive, and return whether it is in place."""
    kept = None if file.target is None else found_at(env, file.target)
    back = _is_back(env, file)
    if file.target is None or kept is None:
        return back
    if not back:
        _put_back(env, window, file, file.target)
    if found_at(env, file.target) is not None and same_content(env.stores, file.path, file.target):
        env.stores.remove(file.target)
    return True


def _put_back(env: Environment, window: Window, file: AwayFile, target: str) -> None:
    if found_at(env, file.path) is not None:
        msg = f"{file.path}: another file is there now, so {target} was left; move that file away, then repeat"
        raise SourceError(msg, file.path)
    env.stores.place(target, file.path)
    if not _is_back(env, file):
        if found_at(env, target) is not None:
            env.stores.remove(file.path)
        msg = (
            f"{file.path} cannot be restored from {target} as the same version, since its store gives every copy a new"
            " version; to read the window again, copy all its archived files there by hand and use"
            f" `blockread reprocess --window {window.id}`, which reads the newer versions instead"
        )
        raise SourceError(msg, file.path)


def _is_back(env: Environment, file: AwayFile) -> bool:
    there = found_at(env, file.path)
    return there is not None and version_digest(there)[:SHORT] == file.version_digest


def _pages(env: Environment, window_id: str) -> Iterator[list[AwayFile]]:
    last = -1
    while page := files_away(env.ledger, window_id, after=last, limit=_PAGE):
        yield page
        last = page[-1].file
