"""Admission: which of the files in a listing may be taken at all, and what time each of them has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import (
    FileSource,
    Selection,
    TimePattern,
    nanoseconds,
    parse_duration,
    parse_time,
)
from airflow_provider_blockread.storage.listing.roots import SourceRoots

#: Why a file that no window has taken is left out: it has no time, or its time is before a bound.
LEFT_OUT = ("untimed", "before_start", "too_old")
_TIMES = 2**63  # nanoseconds; an integer of the ledger holds fewer


def bounds_ns(selection: Selection, now: datetime) -> tuple[int | None, int | None]:
    """Return the earliest times that `start_from` and `max_age` allow, in ns; None for an option that is not set.

    Raises:
        OptionsError: when one of them is invalid.
    """
    start, age = selection.start_from, selection.max_age
    return (
        None if start is None else nanoseconds(parse_time(start)),
        None if age is None else nanoseconds(now) - int(parse_duration(age) * 10**9),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The rules of one listing. Times are nanoseconds since the epoch."""

    on_modified: str = "ignore"  # what to do about a new version of a file that was taken: ignore | add | fail
    on_untimed: str = "ignore"  # what to do about a file without a time, if one is needed: ignore | fail
    reads_empty: bool = False  # an empty file may hold a record, so that another version of it is a modified one
    needs_time: bool = False  # a modification time of 0 counts as no time
    pattern: TimePattern | None = None  # how a path names the time; without it, the modification time is used
    start_ns: int | None = None
    oldest_ns: int | None = None
    source: FileSource | None = None  # what is listed, recorded with the listing
    covers: Callable[[str], bool] = lambda _: True  # whether a listing may show a file of this path

    @classmethod
    def of(cls, source: FileSource, selection: Selection, now: datetime) -> Admission:
        """Return the rules of these options at this time.

        Raises:
            OptionsError: when a time, a duration or a pattern is invalid.
        """
        start_ns, oldest_ns = bounds_ns(selection, now)
        return cls(
            on_modified=selection.on_modified,
            on_untimed=selection.on_untimed,
            needs_time=selection.select == "interval" or start_ns is not None or oldest_ns is not None,
            pattern=None if source.time_pattern is None else TimePattern.parse(source.time_pattern, source.time_zone),
            start_ns=start_ns,
            oldest_ns=oldest_ns,
            source=source,
            covers=SourceRoots(source).may_list,
        )

    def admit(self, version: FileVersion) -> tuple[int, str | None]:
        """Return a file's time, and why it is left out (a word of `LEFT_OUT`), or None.

        Raises:
            SourceError: when the ledger cannot hold its modification time.
        """
        if not -_TIMES <= version.mtime_ns < _TIMES:
            msg = (
                f"{version.path}: its modification time is not between the years 1677 and 2262, so the ledger cannot"
                " hold it; correct the time (touch), or exclude the file by a pattern"
            )
            raise SourceError(msg)
        found = version.mtime_ns if self.pattern is None else self.pattern.time_ns(version.path)
        if found is None or (found == 0 and self.pattern is None and self.needs_time):
            return version.mtime_ns, "untimed"
        if self.start_ns is not None and found < self.start_ns:
            return found, "before_start"
        return found, "too_old" if self.oldest_ns is not None and found < self.oldest_ns else None


#: Admits every file, except new versions of taken ones.
EVERY_FILE = Admission()
