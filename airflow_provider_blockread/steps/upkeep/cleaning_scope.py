"""Which files a request cleans, by path, size and age, after a check that source and archive allow it."""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import cast

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.overview.feed_options import newest_sources
from airflow_provider_blockread.ledger.upkeep.cleaning import CleanPage, knows_file
from airflow_provider_blockread.options import FileSource, from_json
from airflow_provider_blockread.options.parsing.sizes import first_of
from airflow_provider_blockread.options.upkeep import CLEANING_ACTIONS
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.steps.separation import check_archive_apart
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.listing.files import why_held
from airflow_provider_blockread.storage.listing.held_back import HeldBack, VersionRules
from airflow_provider_blockread.storage.listing.roots import SourceRoots

_SHOWN = 20  # feeds that a note names
WHY = {
    "waiting": "still to be read by another feed",
    "busy": "of windows that are being read again, or published too lately, here or in another feed",
    "outside": "outside of the source, or behind a link in it",
    "changed": "changed since they were read",
    "gone": "gone already",
    "failed": "that failed",
    "young": "younger than min_age",
    "unmarked": "without their done_marker",
    "too_small": "smaller than min_size",
    "too_large": "larger than max_size",
}


@dataclass(frozen=True, kw_only=True)
class CleanRequest:
    """Which files of a feed are cleaned, and how: those in the source that were published at least `grace` seconds ago.

    `archive` is a folder in the store of the source, in which files keep their paths relative to their roots.
    """

    feed: str
    source: FileSource
    action: str  # archive | delete | tag
    grace: float  # seconds
    archive: str | None = None
    tags: Mapping[str, str] = field(default_factory=lambda: {"blockread": "published"})

    def __post_init__(self) -> None:
        if self.action not in CLEANING_ACTIONS:
            msg = f"clean: action must be {', '.join(CLEANING_ACTIONS)}, not {self.action!r}"
            raise OptionsError(msg)
        if (self.archive is not None) != (self.action == "archive"):
            msg = "clean: `archive` names the folder for action 'archive', and for no other; give both or neither"
            raise OptionsError(msg)
        if self.grace < 0 or not self.tags:
            msg = f"clean: grace ({self.grace:g} s) must be 0 or more, and tags must name at least one"
            raise OptionsError(msg)


class Scope:
    """What a request's source takes, by path, size and age; everything else is counted in `left`."""

    def __init__(self, env: Environment, request: CleanRequest) -> None:
        self.left, self._waiting_for = Counter[str](), set[str]()
        self.roots = _checked(env, request)
        self._stores, self._source, self._now_s = env.stores, request.source, env.ledger.now().timestamp()
        self._rules = VersionRules(request.source, self._now_s, HeldBack(counts=self.left))

    def leave(self, page: CleanPage) -> None:
        """Count the files that the page leaves alone."""
        self.left.update(page.left)
        self._waiting_for |= page.waiting_for

    def notes(self) -> tuple[str, ...]:
        """Return how many files were left alone and why, unless there are none."""
        why = dict(WHY)
        why["waiting"] += f" ({first_of(map(repr, sorted(self._waiting_for)), _SHOWN)})"
        counts = [f"{count:,} {why[reason]}" for reason, count in sorted(self.left.items()) if count]
        return (f"left alone: {', '.join(counts)}",) if counts else ()

    def path_of(self, version: FileVersion) -> str | None:
        """Return the path of a version below its root, or None if the source does not take it."""
        path = self.roots.path_of(version.path)
        if path is None:
            self.left["outside"] += 1
        return path if path is not None and self._rules.admits(version) else None

    def is_marked(self, version: FileVersion) -> bool:
        """Return whether the store has the done-marker of a version that the source takes, if it must have one."""
        source = self._source
        return source.done_marker is None or why_held(self._stores, source, version, now_s=self._now_s) is None


def _checked(env: Environment, request: CleanRequest) -> SourceRoots:
    """Return the source's roots, after a check that its stores and the archive allow what is requested."""
    roots, listed = SourceRoots(request.source), newest_sources(env.ledger, request.feed)
    every = [roots, *(SourceRoots(cast("FileSource", from_json(source))) for source in listed)]
    known = {root for source in every[1:] for root in source.uris}  # may be gone by now
    for root in roots.uris:
        path = uris.local_path(root)
        is_gone = path is not None and not os.path.lexists(path)
        if is_gone and root not in known and not knows_file(env.ledger, request.feed, root):
            msg = f"clean: the source {root} does not exist, and the feed knows no such file; correct its path"
            raise OptionsError(msg)
        if request.action == "tag" and not env.stores.has_tags(root):
            msg = (
                f"clean: {root}: tags cannot be set there, only s3:// and abfs:// have them; archive or delete instead"
            )
            raise OptionsError(msg)
        if request.archive is not None and not env.stores.are_one(root, request.archive):
            msg = f"clean: the archive {request.archive} is not in the store of {root}; choose a folder in that store"
            raise OptionsError(msg)
    if request.archive is not None:
        check_archive_apart(env, env.stores.canonical(request.archive))
        _check_archive(env.stores.canonical(request.archive), every)
    return roots


def _check_archive(archive: str, every: Iterable[SourceRoots]) -> None:
    """Refuse an archive that a listing would include: one of the given source, or of the feed's last listed source."""
    if any(source.meet(archive) for source in every):
        msg = (
            f"clean: the archive {archive} is where the source's own listing, or that of the whole feed, would find"
            " its files again; choose a folder beside the feed's roots, or one whose name begins with `_`, or plan once"
            " with a pattern that excludes it"
        )
        raise OptionsError(msg)
