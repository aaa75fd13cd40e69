"""Clean: published files are archived, deleted or tagged at the source; each change is recorded before it is made."""

from __future__ import annotations

import os.path
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import cast

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.ledger.overview.feed_options import newest_sources
from airflow_provider_blockread.ledger.upkeep.cleaning import (
    CleanFile,
    CleanPage,
    Fit,
    finish_cleaning,
    knows_file,
    next_page,
    write_down,
)
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options import FileSource, from_json
from airflow_provider_blockread.options.parsing.sizes import first_of, format_bytes, plural
from airflow_provider_blockread.options.upkeep import CLEANING_ACTIONS
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.steps.separation import check_archive_apart
from airflow_provider_blockread.steps.upkeep.cleaning_files import archive_file, delete_file, tag_file, what_was_done
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.at_once import ask_ahead
from airflow_provider_blockread.storage.listing.files import why_held
from airflow_provider_blockread.storage.listing.held_back import HeldBack, VersionRules
from airflow_provider_blockread.storage.listing.roots import SourceRoots

_SHOWN = 20  # windows that an intent names
_WHY = {
    "waiting": "still to be read by another feed",
    "busy": "of windows that are being read again, or published too lately, here or in another feed",
    "outside": "outside of the source, or behind a link in it",
    "changed": "changed since they were read",
    "gone": "gone already",
    "young": "younger than min_age",
    "unmarked": "without their done_marker",
    "too_small": "smaller than min_size",
    "too_large": "larger than max_size",
}
_DONE = {"archive": "archived", "delete": "deleted", "tag": "tagged"}


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


@dataclass(frozen=True, kw_only=True)
class CleanIntent(Intent):
    """What cleaning is about to do."""

    files: int
    bytes: int
    left: Mapping[str, int]  # files that are left alone, by reason


@dataclass(frozen=True, kw_only=True)
class Cleaned(AsJson):
    """What cleaning did."""

    action: str
    files: int
    bytes: int
    left: Mapping[str, int]  # files that were left alone, by reason


def propose_cleaning(env: Environment, request: CleanRequest) -> CleanIntent:
    """Return what `clean` would do, without changing anything or checking any file.

    Raises:
        OptionsError: when the source or the archive does not allow it.
    """
    scope = _Scope(env, request)
    files, size, windows = 0, 0, Counter[str]()
    for page in _pages(env, _fit(env, request)):
        scope.leave(page)
        for file in page.files:
            if scope.path_of(file.version) is None:
                continue
            files, size = files + 1, size + file.version.size
            if file.window in windows or len(windows) < _SHOWN:
                windows[file.window] += 1
    how = f"{_DONE[request.action]}{'' if request.archive is None else f' to {env.stores.canonical(request.archive)}'}"
    intents = tuple(
        window_intent(get_window(env.ledger, window), f"{plural(count, 'file')} to be {how}")
        for window, count in windows.items()
    )
    unmarked = "" if request.source.done_marker is None else f" or is {_WHY['unmarked']}"
    what = f"{plural(files, 'file')} ({format_bytes(size)}) to be {how}"
    notes = (f"{what}; a file that has changed{unmarked} is left alone",) if files else ()
    return CleanIntent(
        action="clean", windows=intents, notes=(*notes, *scope.notes()), files=files, bytes=size, left=dict(scope.left)
    )


def clean(env: Environment, request: CleanRequest, *, who: str) -> Cleaned:
    """Archive, delete or tag files that were published long enough ago, and return the counts; can always be repeated.

    Raises:
        OptionsError: when the source or the archive does not allow it.
        SourceError: when a store denies it; what was done until then is recorded.
    """
    work = _Cleaning(env, request, who)
    for page in _pages(env, work.fit):
        work.handle(page)
    done = Cleaned(action=request.action, files=work.files, bytes=work.bytes, left=dict(work.scope.left))
    what = f"{plural(done.files, 'file')} ({format_bytes(done.bytes)}) {_DONE[request.action]}"
    env.observer.log("; ".join((f"feed {request.feed}: {what}", *work.scope.notes())))
    return done


def _pages(env: Environment, fit: Fit) -> Iterator[CleanPage]:
    last = -1
    while (page := next_page(env.ledger, fit, after=last)) is not None:
        yield page
        last = page.last


def _fit(env: Environment, request: CleanRequest) -> Fit:
    before = env.ledger.now() - timedelta(seconds=request.grace)
    return Fit(feed=request.feed, action=request.action, before=before)


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


class _Scope:
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
        why = dict(_WHY)
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


class _Apart:
    """Says which files may be handled at once: two that would have one place in the archive follow each other."""

    def __init__(self, planned: Mapping[int, str | None]) -> None:
        self._planned, self._targets = planned, set[str]()

    def place(self, file: CleanFile) -> str | None:
        """Return the file's URI, or None if an earlier file has the same place in the archive."""
        target = self._planned[file.ids[0]]
        if target in self._targets:
            return None
        if target is not None:
            self._targets.add(target)
        return file.version.path


class _Cleaning:
    """One call of `clean`: what it has done and left alone so far."""

    def __init__(self, env: Environment, request: CleanRequest, who: str) -> None:
        self._env, self._request, self._who, self.scope = env, request, who, _Scope(env, request)
        self.fit = _fit(env, request)
        self._archive = None if request.archive is None else env.stores.canonical(request.archive)
        self.files = self.bytes = 0

    def handle(self, page: CleanPage) -> None:
        """Record what will be done with a page's files, do it, and record the outcome."""
        self.scope.leave(page)
        planned: dict[int, str | None] = {}
        done: dict[str, list[CleanFile]] = defaultdict(list)
        inside = [(file, path) for file in page.files if (path := self.scope.path_of(file.version)) is not None]
        for (file, path), answer in ask_ahead(self._env.stores, inside, self._found, self._asked_about):
            state = answer()
            if state is None:
                planned[file.ids[0]] = None if self._archive is None else uris.child(self._archive, path)
            elif state == "unmarked":
                self.scope.left[state] += 1
            else:
                done[state].append(file)
        try:
            written = write_down(self._env.ledger, self.fit, planned, who=self._who)
            for file, do in ask_ahead(self._env.stores, written, partial(self._do, planned), _Apart(planned).place):
                done[do()].append(file)
        finally:
            finish_cleaning(self._env.ledger, done)
            self._count(done)

    def _found(self, inside: tuple[CleanFile, str]) -> str | None:
        """Return the state in which a file is already, `unmarked` if it has to wait, or None if there is work to do."""
        file, _ = inside
        return what_was_done(self._env, file) or (None if self.scope.is_marked(file.version) else "unmarked")

    def _asked_about(self, inside: tuple[CleanFile, str]) -> str | None:
        file, _ = inside
        return None if self._request.source.done_marker is None and file.begun is None else file.version.path

    def _do(self, planned: Mapping[int, str | None], file: CleanFile) -> str:
        """Do what was recorded, if the file is the version that was read, and return its new state."""
        target = planned[file.ids[0]]
        if self.scope.roots.path_of(file.version.path) is None:  # a link has replaced one of its folders meanwhile
            return "changed"
        if target is not None:
            return archive_file(self._env, file, target)
        if self._request.action == "delete":
            return delete_file(self._env, file)
        return tag_file(self._env, file, self._request.tags)

    def _count(self, done: Mapping[str, list[CleanFile]]) -> None:
        for state, found in done.items():
            if state == "done":
                self.files += len(found)
                self.bytes += sum(file.version.size for file in found)
            else:
                self.scope.left[state] += len(found)
