"""Clean: published files are archived, deleted or tagged at the source; each change is recorded before it is made."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TypeVar

from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.ledger.upkeep.cleaning import (
    CleanFile,
    CleanPage,
    Fit,
    finish_cleaning,
    next_page,
    write_down,
)
from airflow_provider_blockread.ledger.windows.queries import get_window
from airflow_provider_blockread.options.parsing.sizes import format_bytes, plural
from airflow_provider_blockread.steps.intent import Intent, window_intent
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.steps.upkeep.cleaning_files import archive_file, delete_file, tag_file, what_was_done
from airflow_provider_blockread.steps.upkeep.cleaning_scope import WHY, CleanRequest, Scope
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.at_once import ask_ahead

_SHOWN = 20  # windows that an intent names
_MOST_FAILED = 100  # files; then the store is likely to deny all of them
T = TypeVar("T")

_DONE = {"archive": "archived", "delete": "deleted", "tag": "tagged"}


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
    scope = Scope(env, request)
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
    unmarked = "" if request.source.done_marker is None else f" or is {WHY['unmarked']}"
    what = f"{plural(files, 'file')} ({format_bytes(size)}) to be {how}"
    notes = (f"{what}; a file that has changed{unmarked} is left alone",) if files else ()
    return CleanIntent(
        action="clean", windows=intents, notes=(*notes, *scope.notes()), files=files, bytes=size, left=dict(scope.left)
    )


def clean(env: Environment, request: CleanRequest, *, who: str) -> Cleaned:
    """Archive, delete or tag files that were published long enough ago, and return the counts; can always be repeated.

    Raises:
        OptionsError: when the source or the archive does not allow it.
        SourceError: when the store denies it for some files; all others are done.
        TransientError: when the store fails; what was done until then is recorded.
    """
    work = _Cleaning(env, request, who)
    for page in _pages(env, work.fit):
        work.handle(page)
    done = Cleaned(action=request.action, files=work.files, bytes=work.bytes, left=dict(work.scope.left))
    what = f"{plural(done.files, 'file')} ({format_bytes(done.bytes)}) {_DONE[request.action]}"
    env.observer.log("; ".join((f"feed {request.feed}: {what}", *work.scope.notes())))
    work.require_all()
    return done


def _pages(env: Environment, fit: Fit) -> Iterator[CleanPage]:
    last = -1
    while (page := next_page(env.ledger, fit, after=last)) is not None:
        yield page
        last = page.last


def _fit(env: Environment, request: CleanRequest) -> Fit:
    before = env.ledger.now() - timedelta(seconds=request.grace)
    return Fit(feed=request.feed, action=request.action, before=before)


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
        self._env, self._request, self._who, self.scope = env, request, who, Scope(env, request)
        self.fit = _fit(env, request)
        self._archive = None if request.archive is None else env.stores.canonical(request.archive)
        self.files = self.bytes = 0
        self._failed: list[SourceError] = []

    def handle(self, page: CleanPage) -> None:
        """Record what will be done with a page's files, do it, and record the outcome."""
        self.scope.leave(page)
        planned: dict[int, str | None] = {}
        done: dict[str, list[CleanFile]] = defaultdict(list)
        inside = [(file, path) for file in page.files if (path := self.scope.path_of(file.version)) is not None]
        for (file, path), answer in ask_ahead(self._env.stores, inside, self._found, self._asked_about):
            state = self._answered(answer)
            if state is None:
                planned[file.ids[0]] = None if self._archive is None else uris.child(self._archive, path)
            elif state == "unmarked":
                self.scope.left[state] += 1
            else:
                done[state].append(file)
        try:
            written = write_down(self._env.ledger, self.fit, planned, who=self._who)
            for file, do in ask_ahead(self._env.stores, written, partial(self._do, planned), _Apart(planned).place):
                done[self._answered(do)].append(file)
        finally:
            if failed := done.pop("failed", ()):
                self.scope.left["failed"] += len(failed)
            finish_cleaning(self._env.ledger, done)
            self._count(done)

    def require_all(self) -> None:
        """Raise the first error about a file, with the number of those that failed like it."""
        if not self._failed:
            return
        first, *others = self._failed
        if not others:
            raise first
        msg = f"{first} (and {plural(len(others), 'other file')} that could not be {_DONE[self._request.action]})"
        raise SourceError(msg, first.path) from first

    def _answered(self, ask: Callable[[], T]) -> T | str:
        """Return a file's state, which is `failed` if its store denies it."""
        try:
            return ask()
        except SourceError as error:
            self._failed.append(error)
            if len(self._failed) == _MOST_FAILED:
                raise
            return "failed"

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
