"""Watching a source: its files are recorded in the feed's index as they arrive, and reported from a mark on.

The index is the memory: a file is reported once because it has one mark, and it is never lost because it waits in the
index until a plan takes it. A watch records like a plan's own listing, but leaves reports of missing files to the plan.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileMissingError, OptionsError, SourceError, TransientError
from airflow_provider_blockread.ledger.files.admission import Admission
from airflow_provider_blockread.ledger.files.discovery import record_files
from airflow_provider_blockread.ledger.files.unread import newest_file, newest_pending, pending_since
from airflow_provider_blockread.ledger.noop import forgets
from airflow_provider_blockread.steps.model import AsJson, Environment
from airflow_provider_blockread.steps.plan.choosing import FileChoice
from airflow_provider_blockread.steps.watch.new_files import FilesFound, NewFilesQuery, listed, summed
from airflow_provider_blockread.storage.backends.events import read_event, without_account
from airflow_provider_blockread.storage.listing.files import list_files, listed_as, marked_by, why_held
from airflow_provider_blockread.storage.listing.held_back import HeldBack


@dataclass(frozen=True, kw_only=True)
class Watched(AsJson):
    """The result of one look of a watch."""

    ledger: str  # the identity of the ledger; marks are valid only there
    before: int  # the mark after all files that were known before this look
    newest: int  # the mark after the newest pending file
    new: int = 0  # files that the feed did not know
    ignored: dict[str, int] = field(default_factory=dict)  # number of hints, by why they led to nothing
    later: tuple[int, ...] = ()  # indices of hints that must come again, since the file is too young


def record_listing(env: Environment, query: NewFilesQuery) -> Watched:
    """Record the source's current files in the feed's index, and return how many of them are new.

    Raises:
        OptionsError: when the ledger does not remember files.
        SourceError: when a root cannot be listed.
        TransientError: when the store or the ledger fails.
    """
    before = newest_file(env.ledger)
    return _watched(env, query, before, _record(env, query, listed(env, query)))


def record_hints(env: Environment, query: NewFilesQuery, bodies: Sequence[str]) -> Watched:
    """Check the files that messages of a store name, and record those that exist in the feed's index.

    A message is only a hint: its file must be in the source and match its rules, and is recorded as it is now.
    A message about a done-marker is a hint at the files that it stands for.

    Raises:
        OptionsError: when the ledger does not remember files.
        TransientError: when the store or the ledger fails.
    """
    before = newest_file(env.ledger)
    hints = _Hints(env, query)
    for place, body in enumerate(bodies):
        hints.add(place, read_event(body))
    new = hints.record()
    counts = {why: count for why, count in hints.ignored.items() if count}
    if counts:
        ignored = ", ".join(f"{count:,} {why.replace('_', ' ')}" for why, count in counts.items())
        env.observer.log(f"feed {query.feed}: of {len(bodies):,} storage events ignored: {ignored}")
    watched = _watched(env, query, before, new)
    return dataclasses.replace(watched, ignored=counts, later=tuple(sorted(hints.later)))


def found_since(env: Environment, feed: str, marks: tuple[int, int], *, only: str | None = None) -> FilesFound:
    """Return the totals of the pending files after the first mark, up to the second.

    `only` is a glob on the files' URIs, as in `FileChoice`; None means all.

    Raises:
        OptionsError: when `only` is not a valid glob.
    """
    choice = FileChoice(path=only)
    return summed(feed, (v for v in pending_since(env.ledger, feed, *marks) if choice.matches(v.path)))


def _watched(env: Environment, query: NewFilesQuery, before: int, new: int) -> Watched:
    newest = newest_pending(env.ledger, query.feed)
    return Watched(ledger=env.ledger.uuid, before=before, newest=newest, new=new)


def _record(env: Environment, query: NewFilesQuery, versions: Iterator[FileVersion]) -> int:
    """Record files in the feed's index, and return how many of them are new."""
    if forgets(env.ledger):
        msg = f"feed {query.feed}: a watch cannot use ledger noop, which forgets; name another for it and its pipeline"
        raise OptionsError(msg)
    rules = Admission.of(query.source, query.selection, env.ledger.now())
    # Files for which a plan would fail are left for the plan to report.
    lenient = dataclasses.replace(
        rules, on_modified="ignore" if rules.on_modified == "fail" else rules.on_modified, on_untimed="ignore"
    )
    found = record_files(env.ledger, query.feed, versions, rules=lenient, complete=False)
    return found.new + found.modified + found.returned


class _Hints:
    """What messages hint at: files, and markers of files."""

    def __init__(self, env: Environment, query: NewFilesQuery) -> None:
        self._env, self._query = env, query
        self._files: dict[str, FileVersion] = {}
        self._marked: dict[str, dict[str, set[int]]] = {}  # messages, by root and pattern of what markers stand for
        self.ignored = Counter[str]()
        self.later: set[int] = set()

    def add(self, place: int, uris: Sequence[str]) -> None:
        """Check the URIs that the message with this index names."""
        self.ignored["not of a new file"] += not uris
        for uri in uris:
            marked = (marked_by(self._query.source, one) for one in (uri, without_account(uri)))
            if (found := next(filter(None, marked), None)) is not None:
                self._marked.setdefault(found[0], {}).setdefault(found[1], set()).add(place)
                continue
            version = _verified(self._env, self._query, uri)
            if version == "young":
                self.later.add(place)
            elif isinstance(version, str):
                self.ignored[version] += 1
            else:
                self._files[version.path] = version

    def record(self) -> int:
        """Record the files in the feed's index, and return how many of them are new."""
        new = _record(self._env, self._query, iter(self._files.values()))
        return new + sum(self._record_marked(root, patterns) for root, patterns in self._marked.items())

    def _record_marked(self, root: str, patterns: Mapping[str, set[int]]) -> int:
        source, held, absent = self._query.source, HeldBack(), list[FileMissingError]()
        there = dataclasses.replace(source, uris=root, pattern=tuple(patterns), exclude=(), max_depth=1)
        now_s = self._env.ledger.now().timestamp()
        listing = list_files(self._env.stores, there, now_s=now_s, held=held, absent=absent.append)
        try:
            new = _record(self._env, self._query, (one for one in listing if listed_as(source, one.path) is not None))
        except TransientError:
            raise
        except (SourceError, OptionsError) as error:
            self._env.observer.log(f"feed {self._query.feed}: {error}")
            self.ignored["that cannot be looked at"] += 1
            return 0
        counts = Counter(held.counts)
        if counts.pop("young", 0):
            self.later.update(*patterns.values())
        self.ignored.update(counts)
        self.ignored["of files that are gone"] += len(absent)
        return new


def _verified(env: Environment, query: NewFilesQuery, uri: str) -> FileVersion | str:
    """Return the file's version in the store, or why the hint leads to nothing."""
    try:
        found = listed_as(query.source, uri) or listed_as(query.source, without_account(uri))
        if found is None:
            return "outside of the source"
        version = env.stores.stat(found)
        return why_held(env.stores, query.source, version, now_s=env.ledger.now().timestamp()) or version
    except FileMissingError:
        return "of files that are gone"
    except TransientError:
        raise
    except (SourceError, OptionsError) as error:
        env.observer.log(f"feed {query.feed}: {error}")
        return "that cannot be looked at"
