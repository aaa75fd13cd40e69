"""What a listing holds back: files that its patterns want, and that are not to be taken, or not yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_provider_blockread.blocks import FileVersion
from airflow_provider_blockread.errors import SourceError
from airflow_provider_blockread.options import FileSource
from airflow_provider_blockread.storage import uris

#: Why a file is held back: it may still be written, its marker is not there, its size lies outside of the bounds, or a
#: link leads out of the roots.
REASONS = ("young", "unmarked", "too_small", "too_large", "linked_out")
_SAMPLES = 3
_TIMED = {"file", "s3", "gs", "abfs", "sftp", "ssh"}  # where a time of 0 is one


@dataclass(slots=True)
class HeldBack:
    """Files by reason, and the paths of some of them."""

    counts: Counter[str] = field(default_factory=Counter)
    samples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, version: FileVersion) -> None:
        """Count a file."""
        self.note(reason, version.path)

    def note(self, reason: str, uri: str) -> None:
        """Count a file, or the link to a folder, that nobody has looked at."""
        self.counts[reason] += 1
        shown = self.samples.setdefault(reason, [])
        if len(shown) < _SAMPLES:
            shown.append(uris.printable(uri))


class VersionRules:
    """The age and size options of a source, at one moment.

    Args:
        source: the options.
        now_s: the present, seconds since the epoch.
        held: takes what they hold back.
    """

    def __init__(self, source: FileSource, now_s: float, held: HeldBack) -> None:
        self._latest_ns = int((now_s - source.min_age) * 10**9) if source.min_age else None
        self._least, self._most = source.size_bounds
        self._held = held

    def admitted(self, versions: Iterator[FileVersion]) -> Iterator[FileVersion]:
        """Return the versions that may be taken; the others are counted."""
        any_rule = (self._latest_ns, self._least, self._most) != (None, None, None)
        return filter(self._admits, versions) if any_rule else versions

    def _admits(self, version: FileVersion) -> bool:
        reason = self._reason(version)
        if reason is not None:
            self._held.add(reason, version)
        return reason is None

    def _reason(self, version: FileVersion) -> str | None:
        if self._latest_ns is not None and self._is_young(version, self._latest_ns):
            return "young"
        if self._least is not None and version.size < self._least:
            return "too_small"
        return "too_large" if self._most is not None and version.size > self._most else None

    @staticmethod
    def _is_young(version: FileVersion, latest_ns: int) -> bool:
        if version.mtime_ns == 0 and uris.scheme_of(version.path) not in _TIMED:
            msg = (
                f"{version.path}: its store tells no time of a file, so min_age cannot be kept; leave it out, and let a"
                " done_marker say when files are whole"
            )
            raise SourceError(msg, version.path)
        return version.mtime_ns > latest_ns
