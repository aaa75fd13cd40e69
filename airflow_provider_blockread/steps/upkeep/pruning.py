"""Prune: old windows lose their details, finished ones their leftovers; what is published is not touched.

For each old window the order is: it is marked; then its manifest, its details in the ledger, its folder in the work
area, and last its groups are removed. Thus a call after any crash continues. If a work area cannot be reached, only its
own windows are skipped, and the next call tries them again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.feeds import require_feed
from airflow_provider_blockread.ledger.model import Window
from airflow_provider_blockread.ledger.upkeep.retention import (
    Bound,
    begin_pruning,
    drop_detail,
    drop_listings,
    drop_stretches,
    finish_pruning,
    is_pruned,
    old_windows,
    prunable,
)
from airflow_provider_blockread.ledger.upkeep.sweeping import unopened_windows, unswept_windows
from airflow_provider_blockread.ledger.windows.generations import as_read_by, list_generations
from airflow_provider_blockread.options.parsing.sizes import plural
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.steps.separation import drop_torn_marks
from airflow_provider_blockread.steps.upkeep.sweeping import (
    SHOWN,
    Unreached,
    clear_unopened,
    folders_of,
    generations_in,
    leftovers_of,
    sweep,
    with_attempts,
)
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.at_once import remove_all, remove_folders


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
    found = prunable(env.ledger, request.bound(env), limit=SHOWN)
    intents = [
        window_intent(w, f"its details are removed; the identities of {plural(w.files, 'file')} stay")
        for w in found.first
    ]
    old = {window.id for window in found.first} if found.windows <= SHOWN else None
    unreached, leftovers = Unreached(), 0
    for window, attempts in with_attempts(env, unswept_windows(env.ledger, request.feed)):
        folders = 0
        if old is None or window.id not in old:
            with unreached.skipping(window):
                folders = sum(1 for _ in leftovers_of(env, window, attempts))
        leftovers += folders
        if folders and len(intents) < SHOWN:
            intents.append(window_intent(window, f"{plural(folders, 'leftover folder')} of its attempts to clear"))
    for window in unopened_windows(env.ledger, request.feed):
        leftovers += 1
        if len(intents) < SHOWN:
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


def prune(env: Environment, request: PruneRequest) -> Pruned:
    """Prune old windows, clear leftovers, and return the counts; can be repeated after any crash.

    Raises:
        BlockReadError: when the work areas of some windows could not be cleared, naming these; everything else is
            done, and the next call tries them again.
    """
    bound, unreached = request.bound(env), Unreached()
    pruned = files = 0
    feeds: set[str] = set()  # their folders
    for window in old_windows(env.ledger, bound):
        with unreached.skipping(window):
            if begin_pruning(env.ledger, window.id, bound):
                files += _prune(env, window, keep_manifest=request.keep_manifests)
                pruned += 1
                feeds.add(uris.parent(uris.parent(window.manifest_uri)))
    leftovers = sweep(env, request.feed, unreached)
    for window in unopened_windows(env.ledger, request.feed):
        with unreached.skipping(window):
            leftovers += clear_unopened(env, window)
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


def _prune(env: Environment, window: Window, *, keep_manifest: bool) -> int:
    generations = list_generations(env.ledger, window.id)
    if not keep_manifest:
        # First: from here on a rebuild of the window is refused.
        remove_all(env.stores, {as_read_by(window, found).manifest_uri for found in (None, *generations)})
    files = drop_detail(env.ledger, window.id, keep_cleanings=keep_manifest)
    if is_pruned(env.ledger, window.id):
        for folder in folders_of(window, generations):
            removed = generations_in(env, folder, generations) if keep_manifest else [folder]
            remove_folders(env.stores, removed)
    finish_pruning(env.ledger, window.id)
    return files
