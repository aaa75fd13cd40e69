"""What a listing holds back: files that match its patterns, but must not be taken (yet)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.options.parsing.times import parse_age
from airflow_provider_blockread.storage import uris
from airflow_provider_blockread.storage.schemes import scheme_for

_SAMPLES = 3


@dataclass(slots=True)
class HeldBack:
    """Numbers of files by reason, and the paths of some of them.

    A file may still be being written (`young`), lack its marker (`unmarked`), be `too_small` or `too_large`, or be
    behind a link out of the roots (`linked_out`).
    """

    counts: Counter[str] = field(default_factory=Counter)
    samples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, uri: str) -> None:
        """Count a file, or a link to a folder."""
        self.counts[reason] += 1
        shown = self.samples.setdefault(reason, [])
        if len(shown) < _SAMPLES:
            shown.append(uris.readable_uri(uri))


class VersionRules:
    """The age and size options of a source, at one moment.

    Args:
        source: the options.
        now_s: the current time in seconds since the epoch.
        held: counts the files that they hold back.
    """

    def __init__(self, source: FileSource, now_s: float, held: HeldBack) -> None:
        age = parse_age(source.min_age)
        self._latest_ns = int((now_s - age) * 10**9) if age else None
        self._least, self._most = source.size_bounds
        self._held = held

    def admitted(self, versions: Iterator[FileVersion]) -> Iterator[FileVersion]:
        """Return the versions that may be taken, as an iterator; the others are counted."""
        any_rule = (self._latest_ns, self._least, self._most) != (None, None, None)
        return filter(self.admits, versions) if any_rule else versions

    def admits(self, version: FileVersion) -> bool:
        """Return whether a version may be taken; if not, it is counted."""
        reason = self._reason(version)
        if reason is not None:
            self._held.add(reason, version.path)
        return reason is None

    def _reason(self, version: FileVersion) -> str | None:
        if self._latest_ns is not None and self._is_young(version, self._latest_ns):
            return "young"
        if self._least is not None and version.size < self._least:
            return "too_small"
        return "too_large" if self._most is not None and version.size > self._most else None

    @staticmethod
    def _is_young(version: FileVersion, latest_ns: int) -> bool:
        if version.mtime_ns == 0 and not scheme_for(version.path).has_times:
            msg = (
                f"{version.path}: its store reports no modification times, so min_age cannot apply; leave it out, and"
                " use a done_marker for files that are complete"
            )
            raise SourceError(msg, version.path)
        return version.mtime_ns > latest_ns
