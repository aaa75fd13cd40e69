"""Clean: published files are archived, deleted or tagged at the source, each written down before it is done."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.blocks.ids import digest, same_version, version_digest
from airflow_provider_blockread.errors import FileMissingError, OptionsError, SourceError
from airflow_provider_blockread.ledger.cleaning import (
    CleanFile,
    CleanPage,
    Fit,
    finish_cleaning,
    next_page,
    write_down,
    write_target,
)
from airflow_provider_blockread.ledger.columns import CLEANING_ACTIONS, SHORT
from airflow_provider_blockread.ledger.queries import get_window
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.steps.cleaned import found_at
from airflow_provider_blockread.steps.describe import format_bytes
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.contents import same_content
from airflow_provider_blockread.storage.roots import SourceRoots

_TOLD = 20  # windows that an intent names
_WHY = {
    "waiting": "still to be read by another feed",
    "busy": "of windows that are being read again, or published too lately, here or in another feed",
    "outside": "outside of the source, or behind a link in it",
    "changed": "changed since they were read",
    "gone": "gone already",
}
_DONE = {"archive": "archived", "delete": "deleted", "tag": "tagged"}


@dataclass(frozen=True, kw_only=True)
class CleanRequest:
    """Which files of a feed are cleaned, and how: published for so many seconds, and inside of the source.

    `archive` is a folder in the store of the source, where files keep their paths below their roots.
    """

    feed: str
    source: FileSource
    action: str  # archive | delete | tag
    grace: float  # seconds
    archive: str | None = None
    tags: Mapping[str, str] = field(default_factory=lambda: {"blockread": "published"})

    def __post_init__(self) -> None:
        """Refuse what means nothing."""
        if self.action not in CLEANING_ACTIONS:
            msg = f"clean: action must be {', '.join(CLEANING_ACTIONS)}, not {self.action!r}"
            raise OptionsError(msg)
        if (self.archive is not None) != (self.action == "archive"):
            msg = "clean: `archive` names the folder for action 'archive', and for no other; give both or neither"
            raise OptionsError(msg)
        if self.grace < 0 or not self.tags:
            msg = f"clean: grace ({self.grace:g} s) must be 0 or more, and tags must name one at least"
            raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class CleanIntent(Intent):
    """What cleaning is about to do."""

    files: int
    bytes: int
    left: Mapping[str, int]  # files that are left alone, by reason

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be done."""
        return not self.files


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """What cleaning did."""

    action: str
    files: int
    bytes: int
    left: Mapping[str, int]  # files that were left alone, by reason

    def to_json(self) -> dict[str, Any]:
        """Return this summary as JSON."""
        return dataclasses.asdict(self)


def propose_cleaning(env: Environment, request: CleanRequest) -> CleanIntent:
    """Return what `clean` would do; nothing is changed, and no file is looked at.

    Raises:
        OptionsError: when the source or the archive does not allow it.
    """
    roots = _checked(env, request)
    files, size, left, windows = 0, 0, Counter[str](), Counter[str]()
    for page in _pages(env, _fit(env, request)):
        left.update(page.left)
        for file in page.files:
            if roots.path_of(file.version.path) is None:
                left["outside"] += 1
                continue
            files, size = files + 1, size + file.version.size
            if file.window in windows or len(windows) < _TOLD:
                windows[file.window] += 1
    how = f"{_DONE[request.action]}{'' if request.archive is None else f' to {env.stores.canonical(request.archive)}'}"
    told = tuple(
        window_intent(get_window(env.ledger, window), f"{count:,} files are {how}") for window, count in windows.items()
    )
    note = f"{files:,} files ({format_bytes(size)}) are {how}; a file that has changed is left alone"
    return CleanIntent(
        action="clean", windows=told, notes=(note + _describe_left(left),), files=files, bytes=size, left=left
    )


def clean(env: Environment, request: CleanRequest, *, who: str) -> Cleaned:
    """Archive, delete or tag what is published long enough, and return how much that was; may be repeated any time.

    Raises:
        OptionsError: when the source or the archive does not allow it.
        SourceError: when a store denies it; what is done until then is recorded.
    """
    work = _Cleaning(env, request, who, _checked(env, request))
    for page in _pages(env, work.fit):
        work.handle(page)
    done = Cleaned(action=request.action, files=work.files, bytes=work.bytes, left=dict(work.left))
    env.log(
        f"feed {request.feed}: {done.files:,} files ({format_bytes(done.bytes)}) {_DONE[request.action]}"
        f"{_describe_left(work.left)}"
    )
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
    """Return the source's roots, once its stores and the archive are known to allow what is asked for."""
    roots = SourceRoots(request.source)
    for root in roots.uris:
        if request.action == "tag" and not env.stores.has_tags(root):
            msg = (
                f"clean: {root}: tags cannot be set there, only s3:// and abfs:// have them; archive or delete instead"
            )
            raise OptionsError(msg)
        if request.archive is not None and not env.stores.are_one(root, request.archive):
            msg = f"clean: the archive {request.archive} is not in the store of {root}; choose a folder in that store"
            raise OptionsError(msg)
    if request.archive is not None and roots.meet(env.stores.canonical(request.archive)):
        msg = (
            f"clean: the archive {request.archive} lies where the source's own listing would find its files again;"
            " choose a folder beside the roots, or one whose name begins with `_`, or exclude it by a pattern"
        )
        raise OptionsError(msg)
    return roots


def _describe_left(left: Mapping[str, int]) -> str:
    told = [f"{count:,} {_WHY[why]}" for why, count in sorted(left.items()) if count]
    return f"; left alone: {', '.join(told)}" if told else ""


class _Cleaning:
    """One call: what it has done and left alone so far."""

    def __init__(self, env: Environment, request: CleanRequest, who: str, roots: SourceRoots) -> None:
        self._env, self._request, self._who, self._roots = env, request, who, roots
        self.fit = _fit(env, request)
        self._archive = None if request.archive is None else env.stores.canonical(request.archive)
        self.files = self.bytes = 0
        self.left: Counter[str] = Counter()

    def handle(self, page: CleanPage) -> None:
        """Write down what is to become of a page's files, do it, and record what came of it."""
        self.left.update(page.left)
        planned: dict[int, str | None] = {}
        done: dict[str, list[CleanFile]] = defaultdict(list)
        for file in page.files:
            path = self._roots.path_of(file.version.path)
            if path is None:
                self.left["outside"] += 1
            elif file.begun is not None and not self._is_there(file):
                done[self._what_became(file, *file.begun)].append(file)
            else:
                planned[file.ids[0]] = None if self._archive is None else uris.child(self._archive, path)
        try:
            for file in write_down(self._env.ledger, self.fit, planned, who=self._who):
                done[self._do(file, planned[file.ids[0]])].append(file)
        finally:
            finish_cleaning(self._env.ledger, done)
            self._count(done)

    def _count(self, done: Mapping[str, list[CleanFile]]) -> None:
        for state, found in done.items():
            if state == "done":
                self.files += len(found)
                self.bytes += sum(file.version.size for file in found)
            else:
                self.left[state] += len(found)

    def _is_there(self, file: CleanFile) -> bool:
        there = found_at(self._env, file.version.path)
        return there is not None and same_version(there, file.version)

    def _what_became(self, file: CleanFile, action: str, target: str | None) -> str:
        """Return the state of a file that is no longer in its place, once it was written down."""
        there = found_at(self._env, file.version.path)
        if action == "archive" and target is not None:
            kept = found_at(self._env, target)
            whole = kept is not None and kept.size == file.version.size
            if kept is not None and whole and (there is None or _is_copy(kept, file.version)):
                return "done"
        elif action == "delete" and there is None:
            return "done"
        return "gone" if there is None else "changed"

    def _do(self, file: CleanFile, target: str | None) -> str:
        """Do what was written down, if the file is what was read; return its state then."""
        stores, path = self._env.stores, file.version.path
        there = found_at(self._env, path)
        if there is None or not same_version(there, file.version):
            return "gone" if there is None else "changed"
        try:
            if target is not None:
                return self._put_away(file, target)
            if self._request.action == "delete":
                stores.remove(path)
            else:
                stores.tag(path, self._request.tags)
        except FileMissingError:  # somebody else cleans the same files
            return self._what_became(file, self._request.action, target)
        return "done"

    def _put_away(self, file: CleanFile, wanted: str) -> str:
        stores, path = self._env.stores, file.version.path
        target = self._free_place(file, wanted)
        if target != wanted:
            write_target(self._env.ledger, file, target)
        if found_at(self._env, target) is None:
            stores.place(path, target)
        kept, there = found_at(self._env, target), found_at(self._env, path)
        if kept is None or kept.size != file.version.size:
            msg = f"{path} was put into the archive as {target}, but is not whole there; it was left in its place: look"
            raise SourceError(msg, path)
        if there is not None and same_version(there, file.version):
            stores.remove(path)
        elif there is not None and not _is_copy(kept, file.version):
            stores.remove(target)  # it changed while it was copied
            return "changed"
        return "done"

    def _free_place(self, file: CleanFile, wanted: str) -> str:
        """Return where the file goes: nothing is there, or the file itself, brought by a call that died."""
        own = f"{wanted}.{digest(file.version.path, version_digest(file.version))[:SHORT]}"
        begun = {own} if file.begun is None else {own, file.begun[1]}
        for target in (wanted, own):
            if found_at(self._env, target) is None:
                return target
            if target in begun and same_content(self._env.stores, file.version.path, target):
                return target
        msg = f"{file.version.path} cannot be archived: {wanted} is taken by other content; move that away, then repeat"
        raise SourceError(msg, file.version.path)


def _is_copy(kept: FileVersion, version: FileVersion) -> bool:
    return same_version(kept._replace(path=version.path), version)
