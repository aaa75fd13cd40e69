"""Stretches: adjacent files in listings, identified by one digest, so that known ones cost almost nothing.

The files themselves determine where a listing is cut, so adding or removing a file changes only its own stretch. A
stretch is remembered once all its versions are recorded. The next listing that shows it does not look up its files,
unless one is unsettled: pending, or known and left out, which a listing may change. The memory therefore stays correct
whatever states files get; only deleting an unread version invalidates it, and calls `forget`.
"""

from __future__ import annotations

import hashlib
import marshal
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from sqlalchemy import Connection, select

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.ledger.dialect import among, insert_or_ignore, pass_over_dead, use_indexes
from airflow_provider_blockread.ledger.schema.file_tables import stretches
from airflow_provider_blockread.ledger.schema.tables import IS_PENDING, IS_UNSETTLED, files
from airflow_provider_blockread.ledger.store import Ledger

_CUT = 31  # one file in 31 ends a stretch
_LONGEST = 1024
#: Batches whose stretches are looked up at once.
ASKED = 4
#: Paths of unsettled files in memory, about 20 MB; if there are more, every file is looked up.
MAX_UNSETTLED = 100_000


class Stretch(NamedTuple):
    """Adjacent files in a listing, and the digest of their paths and versions.

    Most stretches are known and dropped at once, so their files are stored as bytes, and not as objects, which the
    garbage collector would visit repeatedly.
    """

    data: bytes
    files: int
    digest: str

    @property
    def versions(self) -> Iterator[FileVersion]:
        """The files."""
        return map(FileVersion._make, marshal.loads(self.data))  # noqa: S302 - our own, of this process

    @property
    def paths(self) -> list[str]:
        """The files' paths."""
        return [version[0] for version in marshal.loads(self.data)]  # noqa: S302 - as above


def cut(versions: Iterable[FileVersion], longest: int = _LONGEST) -> Iterator[Stretch]:
    """Yield a listing's files in stretches of at most `longest`.

    They end at files that are selected by size and time, independent of their position and of the process.
    """
    longest = min(longest, _LONGEST)
    held: list[tuple[object, ...]] = []
    for version in versions:
        held.append(tuple(version))
        if not (version.size ^ version.mtime_ns) % _CUT or len(held) == longest:
            yield _stretch(held)
            held = []
    if held:
        yield _stretch(held)


def _stretch(held: list[tuple[object, ...]]) -> Stretch:
    # Version 2 writes equal values alike, even if objects are shared. It is by far the fastest for a million files.
    data = marshal.dumps(held, 2)
    return Stretch(data, len(held), hashlib.blake2b(data, digest_size=16).hexdigest())


def by_files(stretches: Iterable[Stretch], size: int) -> Iterator[list[Stretch]]:
    """Yield the stretches in lists of about `size` files."""
    held: list[Stretch] = []
    left = size
    for stretch in stretches:
        held.append(stretch)
        left -= stretch.files
        if left <= 0:
            yield held
            held, left = [], size
    if held:
        yield held


class KnownStretches:
    """The stretches whose files one listing of a feed need not look up.

    `seen` counts the files passed to it; `mostly_known` tells whether more than half of the last ones were known.

    Args:
        ledger: the ledger that remembers the stretches.
        feed_id: the feed's id.
        listing: the listing's id.
    """

    def __init__(self, ledger: Ledger, feed_id: int, listing: int) -> None:
        self._ledger, self._feed_id, self._listing = ledger, feed_id, listing
        self.seen = 0
        self.mostly_known = False
        self._unsettled = self._load_unsettled()

    def _load_unsettled(self) -> set[str] | None:
        found: set[str] = set()
        with self._ledger.reading() as connection:
            pass_over_dead(connection)
            for state in (IS_PENDING, IS_UNSETTLED):
                query = select(files.c.path).where(files.c.feed_id == self._feed_id, state)
                found.update(connection.scalars(query.limit(MAX_UNSETTLED + 1)))
        return None if len(found) > MAX_UNSETTLED else found

    def new_in(self, listing: Iterable[Stretch], size: int) -> Iterator[Stretch]:
        """Yield the stretches of a listing whose files must be looked up; `size` is that of a batch of files."""
        for shown in by_files(listing, ASKED * size):
            files_shown = sum(stretch.files for stretch in shown)
            self.seen += files_shown
            if self._unsettled is None:
                yield from shown
                continue
            known = self._known_of([stretch.digest for stretch in shown if self._is_settled(stretch)])
            new = [stretch for stretch in shown if stretch.digest not in known]
            self.mostly_known = 2 * sum(stretch.files for stretch in new) < files_shown
            yield from new

    def _is_settled(self, stretch: Stretch) -> bool:
        return not self._unsettled or self._unsettled.isdisjoint(stretch.paths)

    def _known_of(self, digests: list[str]) -> set[str]:
        if not digests:
            return set()
        with self._ledger.reading() as connection:
            use_indexes(connection)
            known = among(connection, stretches.c.digest, digests)
            query = select(stretches.c.digest).where(stretches.c.feed_id == self._feed_id, known)
            return {row[0] for row in connection.execute(query).all()}  # reading single scalars takes twice as long

    def remember(self, connection: Connection, recorded: Iterable[Stretch]) -> None:
        """Remember stretches of which all versions are recorded, just now or earlier."""
        digests = {stretch.digest for stretch in recorded}
        rows = [{"feed_id": self._feed_id, "digest": digest, "listing_id": self._listing} for digest in digests]
        if rows:
            connection.execute(insert_or_ignore(connection, stretches), rows)

    def would_update(self, path: str) -> bool:
        """Return whether the listing would have updated the row of this pending file if it had shown the file.

        A file that became pending again meanwhile may be in a known stretch; then it is not missing from the listing.
        """
        return self._unsettled is None or path in self._unsettled


def forget(connection: Connection, feed_id: int, first_listing: int) -> None:
    """Forget every stretch that may contain a version, now deleted, that this or a later listing was first to see."""
    connection.execute(
        stretches.delete().where(stretches.c.feed_id == feed_id, stretches.c.listing_id >= first_listing)
    )
