"""Prune: old windows lose their details, finished ones their leftovers; what is published is not touched.

For each old window the order is: it is marked; then its manifest, its details in the ledger, its folder in the work
area, and last its groups are removed. Thus a call after any crash continues. If a work area cannot be reached, only its
own windows are skipped, and the next call tries them again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

from airflow_provider_blockread.errors import BlockReadError, LedgerUnavailableError, OptionsError
from airflow_provider_blockread.exchange.layout import data_folder, quarantine_folder, staging_folder, window_folder
from airflow_provider_blockread.ledger.feeds import batched, require_feed
from airflow_provider_blockread.ledger.model import Generation, Window
from airflow_provider_blockread.ledger.upkeep.retention import (
    Bound,
    begin_pruning,
    clearing_unopened,
    drop_detail,
    drop_listings,
    drop_stretches,
    finish_pruning,
    is_pruned,
    mark_swept,
    old_windows,
    prunable,
    unopened_windows,
    unswept_windows,
)
from airflow_provider_blockread.ledger.windows.generations import FINISHED, as_read_by, list_generations, list_groups
from airflow_provider_blockread.options import GenerationOptions
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.steps.separation import drop_torn_marks
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.at_once import answers, remove_all, remove_folders

_SHOWN = 20  # windows that an intent names
_SWEPT = 100  # windows that a call has done for good, if it is stopped later
_GENERATION = re.compile(r"g(\d+)")
_STAGED = tuple(folder("") for folder in (data_folder, quarantine_folder, staging_folder))  # ends of URIs
_OVER = (*FINISHED, "superseded")  # states of a generation that is no longer read


@dataclass(frozen=True, kw_only=True)
class PruneRequest:
    """Which windows are old: published or abandoned `older_than` seconds ago, and not among the newest of their feed.

    `keep_manifests` keeps the plans of pruned windows in the work area, so that they can be rebuilt.
    """

    older_than: float  # seconds
    keep: int
    feed: str | None = None
    keep_manifests: bool = False

    def __post_init__(self) -> None:
        if self.older_than < 0 or self.keep < 0:
            msg = f"prune: older_than ({self.older_than:g} s) and keep ({self.keep}) must be 0 or more"
            raise OptionsError(msg)

    def bound(self, env: Environment) -> Bound:
        """Return the same with the age as a point in time."""
        return Bound(before=env.ledger.now() - timedelta(seconds=self.older_than), keep=self.keep, feed=self.feed)


@dataclass(frozen=True, kw_only=True)
class PruneIntent(Intent):
    """What pruning is about to do: the oldest windows one by one, and the totals."""

    pruned: int  # windows
    files: int
    leftovers: int  # folders
    listings: int

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be done."""
        return not (self.pruned or self.leftovers or self.listings)


@dataclass(frozen=True, kw_only=True)
class Pruned(AsJson):
    """What pruning did."""

    windows: int
    files: int  # of which only identities are left
    leftovers: int  # folders of the work area that are gone, of windows that keep their detail
    listings: int


def propose_pruning(env: Environment, request: PruneRequest) -> PruneIntent:
    """Return what `prune` would do, without changing anything.

    Raises:
        OptionsError: when the ledger knows no such feed.
    """
    if request.feed is not None:
        require_feed(env.ledger, request.feed)
    found = prunable(env.ledger, request.bound(env), limit=_SHOWN)
    intents = [
        window_intent(w, f"its details are removed; the identities of {plural(w.files, 'file')} stay")
        for w in found.first
    ]
    old = {window.id for window in found.first} if found.windows <= _SHOWN else None
    unreached, leftovers = _Unreached(), 0
    for window in unswept_windows(env.ledger, request.feed):
        folders = 0
        if old is None or window.id not in old:
            with unreached.skipping(window):
                folders = sum(1 for _ in _leftovers(env, window))
        leftovers += folders
        if folders and len(intents) < _SHOWN:
            intents.append(window_intent(window, f"{plural(folders, 'leftover folder')} of its attempts to clear"))
    for window in unopened_windows(env.ledger, request.feed):
        leftovers += 1
        if len(intents) < _SHOWN:
            intents.append(window_intent(window, "the folder of a plan that was not completed is removed"))
    rebuilt = "pruned windows can be rebuilt" if request.keep_manifests else "pruned windows cannot be rebuilt"
    note = (
        f"{plural(found.windows, 'window')} with {plural(found.files, 'file')} to prune,"
        f" {plural(leftovers, 'leftover folder')} to clear, {plural(found.listings, 'old listing')} to drop."
        f" What is published stays; no file is taken twice; {rebuilt}."
    )
    return PruneIntent(
        action="prune",
        windows=tuple(intents),
        notes=(note,) if found.windows or leftovers or found.listings else (),
        warnings=tuple(unreached.lines()),
        pruned=found.windows,
        files=found.files,
        leftovers=leftovers,
        listings=found.listings,
    )


@dataclass(frozen=True, kw_only=True)
class Leftovers:
    """What attempts have left in the work areas of some windows, for `prune` to clear."""

    folders: Mapping[str, int]  # by window; windows without leftovers are omitted
    searched: int  # windows
    unreached: tuple[str, ...]  # why some could not be searched


def find_leftovers(env: Environment, windows: Iterable[Window], *, within_s: float) -> Leftovers:
    """Return what `prune` would clear of windows that keep their details, searching for at most `within_s` seconds."""
    until, unreached, searched = time.monotonic() + within_s, _Unreached(), 0
    found: dict[str, int] = {}
    for window in windows:
        if time.monotonic() > until:
            break
        searched += 1
        with unreached.skipping(window):
            folders = sum(1 for _ in _leftovers(env, window))
            if folders:
                found[window.id] = folders
    return Leftovers(folders=found, searched=searched, unreached=tuple(unreached.lines()))


def prune(env: Environment, request: PruneRequest) -> Pruned:
    """Prune old windows, clear leftovers, and return the counts; can be repeated after any crash.

    Raises:
        BlockReadError: when the work areas of some windows could not be cleared, naming these; everything else is
            done, and the next call tries them again.
    """
    bound, unreached = request.bound(env), _Unreached()
    pruned = files = 0
    feeds: set[str] = set()  # their folders
    for window in old_windows(env.ledger, bound):
        with unreached.skipping(window):
            if begin_pruning(env.ledger, window.id, bound):
                files += _prune(env, window, keep_manifest=request.keep_manifests)
                pruned += 1
                feeds.add(uris.parent(uris.parent(window.manifest_uri)))
    leftovers = _sweep(env, request.feed, unreached)
    for window in unopened_windows(env.ledger, request.feed):
        with unreached.skipping(window):
            leftovers += _clear_unopened(env, window)
    for folder in feeds:
        drop_torn_marks(env, folder)
    done = Pruned(windows=pruned, files=files, leftovers=leftovers, listings=drop_listings(env.ledger, bound))
    drop_stretches(env.ledger)
    env.observer.log(
        f"pruned {plural(done.windows, 'window')} with {plural(done.files, 'file')},"
        f" {plural(done.leftovers, 'leftover folder')} and {plural(done.listings, 'listing')}"
    )
    unreached.fail()
    return done


@dataclass
class _Unreached:
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
        found = [f"window {w.id} {w.key!r} of feed {w.feed} cannot be cleared: {e}" for w, e in self.errors[:_SHOWN]]
        more = len(self.errors) - len(found)
        return [*found, f"and {plural(more, 'more window')}"] if more else found

    def fail(self) -> None:
        """Raise the first error, if any, with the windows that are left."""
        if self.errors:
            error = self.errors[0][1]
            rest = "Everything else is pruned; fix the cause and repeat the command: these windows are tried again"
            msg = f"prune: some work areas are left: {'; '.join([*self.lines(), rest])}"
            raise type(error)(msg) from error


def _sweep(env: Environment, feed: str | None, unreached: _Unreached) -> int:
    """Remove what attempts have left, and return the number of removed folders."""
    removed = 0
    for windows in batched(unswept_windows(env.ledger, feed), _SWEPT):
        swept = []
        for window in windows:
            with unreached.skipping(window):
                removed += remove_folders(env.stores, _leftovers(env, window))
                swept.append(window.id)
        mark_swept(env.ledger, swept)
    return removed


def _clear_unopened(env: Environment, window: Window) -> int:
    """Remove the folder of a plan that came to nothing, and return the number of removed folders."""
    folder = uris.parent(window.manifest_uri)
    env.stores.list_folders(folder)  # fails now, not in the transaction below, if the store cannot be reached
    with clearing_unopened(env.ledger, window) as unopened:
        if unopened:
            env.stores.remove_folder(folder)
    return int(unopened)


def _prune(env: Environment, window: Window, *, keep_manifest: bool) -> int:
    generations = list_generations(env.ledger, window.id)
    if not keep_manifest:
        # First: from here on a rebuild of the window is refused.
        remove_all(env.stores, {as_read_by(window, found).manifest_uri for found in (None, *generations)})
    files = drop_detail(env.ledger, window.id, keep_cleanings=keep_manifest)
    if is_pruned(env.ledger, window.id):
        for folder in _folders(window, generations):
            removed = _generations_in(env, folder, generations) if keep_manifest else [folder]
            remove_folders(env.stores, removed)
    finish_pruning(env.ledger, window.id)
    return files


def _folders(window: Window, generations: list[Generation]) -> list[str]:
    """Return the window's folder in each work area that its generations have used, and the folder of its manifest."""
    areas = {GenerationOptions.from_json(found.options).sink.work_area for found in generations}
    folders = {window_folder(area, window.feed, window.id) for area in areas} | {uris.parent(window.manifest_uri)}
    return sorted(folder for folder in folders if uris.name_of(folder) == window.id)


def _generations_in(env: Environment, folder: str, generations: list[Generation]) -> Iterator[str]:
    """Yield the folders of generations that are over; a generation that starts meanwhile is not included."""
    over = {found.number for found in generations if found.state in _OVER}
    for uri in env.stores.list_folders(folder):
        number = _GENERATION.fullmatch(uris.name_of(uri))
        if number and int(number[1]) in over:
            yield uri


def _leftovers(env: Environment, window: Window) -> Iterator[str]:
    """Yield leftovers of attempts: the folders of attempts that were not accepted, and staged files of the others."""
    generations = list_generations(env.ledger, window.id)
    finished = [found for found in generations if found.state in FINISHED]
    groups = [group for found in finished for group in list_groups(env.ledger, window.id, found.number)]
    kept = {uris.parent(group.result_uri) for group in groups if group.result_uri}
    for folder in _folders(window, generations):
        for generation in _generations_in(env, folder, generations):
            attempts = env.stores.list_folders(generation)
            yield from (attempt for attempt in attempts if attempt not in kept)
            accepted = [attempt for attempt in attempts if attempt in kept]
            for inner in answers(env.stores, accepted, env.stores.list_folders):
                yield from (uri for uri in inner if uri.endswith(_STAGED))
