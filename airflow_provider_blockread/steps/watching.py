"""Watching a source: what it shows is put into the feed's index as it comes, and told from a mark on.

The index is the memory: a file is told once since it lies behind one mark, and none is lost since it waits there until
a plan takes it. A watch records like a plan's own listing, but calls no file missing: that is left to the plan.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import FileMissingError, OptionsError, SourceError, TransientError
from airflow_provider_blockread.ledger.admission import Admission
from airflow_provider_blockread.ledger.discovery import record_files
from airflow_provider_blockread.ledger.looking import newest_pending, pending_since
from airflow_provider_blockread.ledger.model import Discovered
from airflow_provider_blockread.ledger.noop import forgets
from airflow_provider_blockread.steps.choosing import FileChoice
from airflow_provider_blockread.steps.looking_for_files import FilesFound, Lookout, summed
from airflow_provider_blockread.steps.model import Environment
from airflow_provider_blockread.storage.events import read_event, without_account
from airflow_provider_blockread.storage.listing import list_files, listed_as, why_held


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What one look of a watch came to."""

    newest: int  # the mark behind the newest pending file
    new: int = 0  # files that the feed did not know
    ignored: dict[str, int] = field(default_factory=dict)  # hints by why they led to nothing
    later: tuple[int, ...] = ()  # hints, by their place, that must come again: the file is too young

    def to_json(self) -> dict[str, Any]:
        """Return this as JSON."""
        return dataclasses.asdict(self) | {"later": list(self.later)}


def record_listing(env: Environment, lookout: Lookout) -> Watched:
    """Put what the source shows now into the feed's index, and return how much of it is new there.

    Raises:
        OptionsError: when the ledger forgets.
        SourceError: when a root cannot be listed.
        TransientError: when the store or the ledger fails.
    """
    listing = list_files(env.stores, lookout.source, now_s=env.ledger.now().timestamp())
    try:
        found = _record(env, lookout, listing)
    except FileMissingError as error:  # a root that is not there yet
        env.log(f"feed {lookout.feed}: {error}")
        found = Discovered()
    return Watched(newest=newest_pending(env.ledger, lookout.feed), new=found.new + found.modified + found.returned)


def record_hints(env: Environment, lookout: Lookout, bodies: Sequence[str]) -> Watched:
    """Look at the files that messages of a store name, and put those that are there into the feed's index.

    A message is only a hint: its file must lie within the source and its rules, and is taken as the store shows it now.

    Raises:
        OptionsError: when the ledger forgets.
        TransientError: when the store or the ledger fails.
    """
    ignored = Counter[str]()
    later: set[int] = set()
    versions: dict[str, FileVersion] = {}
    for place, body in enumerate(bodies):
        uris = read_event(body)
        ignored["not of a new file"] += not uris
        for uri in uris:
            version = _verified(env, lookout, uri)
            if version == "young":
                later.add(place)
            elif isinstance(version, str):
                ignored[version] += 1
            else:
                versions[version.path] = version
    found = _record(env, lookout, iter(versions.values()))
    counts = {why: count for why, count in ignored.items() if count}
    if counts:
        told = ", ".join(f"{count:,} {why.replace('_', ' ')}" for why, count in counts.items())
        env.log(f"feed {lookout.feed}: of {len(bodies):,} storage events ignored: {told}")
    return Watched(
        newest=newest_pending(env.ledger, lookout.feed),
        new=found.new + found.modified + found.returned,
        ignored=counts,
        later=tuple(sorted(later)),
    )


def found_since(env: Environment, feed: str, marks: tuple[int, int], *, only: str | None = None) -> FilesFound:
    """Return the pending files behind a mark, up to another, in sums.

    Args:
        env: ledger, stores and log.
        feed: the feed's name.
        marks: the mark up to which files were told before, and the one to tell them to.
        only: a glob on the files' URIs, as `FileChoice` has it; None for all.

    Raises:
        OptionsError: when `only` is no glob.
    """
    choice = FileChoice(path=only)
    return summed(feed, (v for v in pending_since(env.ledger, feed, *marks) if choice.takes(v.path)))


def _record(env: Environment, lookout: Lookout, versions: Iterator[FileVersion]) -> Discovered:
    if forgets(env.ledger):
        msg = f"feed {lookout.feed}: a watch needs a ledger that remembers; give it and its pipeline one, not noop"
        raise OptionsError(msg)
    rules = Admission.of(lookout.source, lookout.selection, env.ledger.now())
    # What a plan would fail for is left to the plan to fail for.
    lenient = dataclasses.replace(
        rules,
        on_modified="ignore" if rules.on_modified == "fail" else rules.on_modified,
        on_untimed="ignore",
    )
    return record_files(env.ledger, lookout.feed, versions, rules=lenient, complete=False)


def _verified(env: Environment, lookout: Lookout, uri: str) -> FileVersion | str:
    """Return the file as the store shows it, or why the hint leads to nothing."""
    try:
        found = listed_as(lookout.source, uri) or listed_as(lookout.source, without_account(uri))
        if found is None:
            return "outside of the source"
        version = env.stores.stat(found)
        return why_held(env.stores, lookout.source, version, now_s=env.ledger.now().timestamp()) or version
    except FileMissingError:
        return "of files that are gone"
    except TransientError:
        raise
    except (SourceError, OptionsError) as error:
        env.log(f"feed {lookout.feed}: {error}")
        return "that cannot be looked at"
