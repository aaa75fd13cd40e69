"""Sweeping: windows that keep their details lose what their attempts have left in the work area.

What the ledger says about attempts is asked for many windows at once, since most of them have left nothing.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial

from airflow_provider_blockread.errors import BlockReadError, LedgerUnavailableError
from airflow_provider_blockread.exchange.layout import data_folder, quarantine_folder, staging_folder, window_folder
from airflow_provider_blockread.ledger.feeds import batched
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.owners import STALE_S, user
from airflow_provider_blockread.ledger.upkeep.sweeping import (
    Attempts,
    attempts_of,
    claim_unopened,
    mark_swept,
    unswept_windows,
)
from airflow_provider_blockread.ledger.windows.generations import FINISHED
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.steps.heartbeat import beating
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.at_once import answers, remove_folders

#: Windows that a message names.
SHOWN = 20

_SWEPT = 100  # windows that a call has done for good, if it is stopped later
_GROUPS = 20_000  # of windows that are held at once, but for a larger window alone
_GENERATION = re.compile(r"g(\d+)")
_STAGED = tuple(folder("") for folder in (data_folder, quarantine_folder, staging_folder))  # ends of URIs
_OVER = (*FINISHED, "superseded")  # states of a generation that is no longer read


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """What attempts have left in the work areas of some windows, for `prune` to clear."""

    folders: Mapping[str, int]  # by window; windows without leftovers are omitted
    searched: int  # windows
    unreached: tuple[str, ...]  # why some could not be searched


def find_leftovers(env: Environment, windows: Iterable[Window], *, within_s: float) -> Leftovers:
    """Return what `prune` would clear of windows that keep their details, searching for at most `within_s` seconds."""
    until, unreached, searched = time.monotonic() + within_s, Unreached(), 0
    found: dict[str, int] = {}
    for window, attempts in with_attempts(env, windows):
        if time.monotonic() > until:
            break
        searched += 1
        with unreached.skipping(window):
            folders = sum(1 for _ in leftovers_of(env, window, attempts))
            if folders:
                found[window.id] = folders
    return Leftovers(folders=found, searched=searched, unreached=tuple(unreached.lines()))


@dataclass
class Unreached:
    """Windows whose work area could not be searched or cleared, and the errors; work on the others continues."""

    errors: list[tuple[Window, BlockReadError]] = field(default_factory=list)

    @contextmanager
    def skipping(self, window: Window) -> Iterator[None]:
        """Record an error that a store raises in the body, and continue; errors of the ledger are raised."""
        try:
            yield
        except LedgerUnavailableError:
            raise
        except BlockReadError as error:
            self.errors.append((window, error))

    def lines(self) -> list[str]:
        """Return a line for each of the first windows, and the number of further ones."""
        found = [f"window {w.id} {w.key!r} of feed {w.feed} cannot be cleared: {e}" for w, e in self.errors[:SHOWN]]
        more = len(self.errors) - len(found)
        return [*found, f"and {plural(more, 'more window')}"] if more else found

    def fail(self) -> None:
        """Raise the first error, if any, with the windows that are left."""
        if self.errors:
            error = self.errors[0][1]
            rest = "Everything else is pruned; fix the cause and repeat the command: these windows are tried again"
            msg = f"prune: some work areas are left: {'; '.join([*self.lines(), rest])}"
            raise type(error)(msg) from error


def sweep(env: Environment, feed: str | None, unreached: Unreached) -> int:
    """Remove what attempts have left, and return the number of removed folders."""
    removed = 0
    for found in batched(with_attempts(env, unswept_windows(env.ledger, feed)), _SWEPT):
        swept = []
        for window, attempts in found:
            with unreached.skipping(window):
                removed += remove_folders(env.stores, leftovers_of(env, window, attempts))
                swept.append(window.id)
        mark_swept(env.ledger, swept)
    return removed


def clear_unopened(env: Environment, window: Window) -> int:
    """Remove the folder of a plan that came to nothing, and return the number of removed folders.

    Meanwhile the window counts as being planned, so that no planner writes there; the ledger is free for others.
    """
    planner = claim_unopened(env.ledger, window, who=f"prune/{user()}")
    if planner is None:
        return 0
    still_mine = partial(planner.announce, window.manifest_uri)
    with planner:
        with beating(still_mine, interval_s=STALE_S / 4, on_lost=lambda: None):
            env.stores.remove_folder(uris.parent(window.manifest_uri))
        planner.announce("")
    return 1


def with_attempts(env: Environment, windows: Iterable[Window]) -> Iterator[tuple[Window, Attempts]]:
    """Yield each window with the attempts at it."""
    for found in _together(windows):
        yield from zip(found, attempts_of(env.ledger, [window.id for window in found]), strict=True)


def _together(windows: Iterable[Window]) -> Iterator[list[Window]]:
    """Yield windows in lists whose attempts are held at once."""
    found: list[Window] = []
    for window in windows:
        if found and (len(found) == _SWEPT or sum(held.groups for held in found) + window.groups > _GROUPS):
            yield found
            found = []
        found.append(window)
    if found:
        yield found


def folders_of(window: Window, generations: list[Generation]) -> list[str]:
    """Return the window's folder in each work area that its generations have used, and the folder of its manifest."""
    areas = {_work_area(json.dumps(found.options)) for found in generations}
    folders = {window_folder(area, window.feed, window.id) for area in areas} | {uris.parent(window.manifest_uri)}
    return sorted(folder for folder in folders if uris.name_of(folder) == window.id)


@lru_cache
def _work_area(options: str) -> str:
    """Return where these options have the work area; the windows of a feed mostly have the same ones."""
    return GenerationOptions.from_json(json.loads(options)).sink.work_area


def generations_in(env: Environment, folder: str, generations: list[Generation]) -> Iterator[str]:
    """Yield the folders of generations that are over; a generation that starts meanwhile is not included."""
    over = {found.number for found in generations if found.state in _OVER}
    for uri in env.stores.list_folders(folder):
        number = _GENERATION.fullmatch(uris.name_of(uri))
        if number and int(number[1]) in over:
            yield uri


def leftovers_of(env: Environment, window: Window, attempts: Attempts) -> Iterator[str]:
    """Yield leftovers of attempts: the folders of attempts that were not accepted, and staged files of the others."""
    kept = {uris.parent(uri) for uri in attempts.results}
    for folder in folders_of(window, attempts.generations):
        for generation in generations_in(env, folder, attempts.generations):
            found = env.stores.list_folders(generation)
            yield from (attempt for attempt in found if attempt not in kept)
            accepted = [attempt for attempt in found if attempt in kept]
            for inner in answers(env.stores, accepted, env.stores.list_folders):
                yield from (uri for uri in inner if uri.endswith(_STAGED))
