"""Sources: where files are and which of them to take. These options are frozen with the window's plan."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.checks import above_zero, is_template, line_ends, parsed_or_template
from airflow_provider_blockread.options.parsing.sizes import parse_size
from airflow_provider_blockread.options.parsing.times import TimePattern, parse_age
from airflow_provider_blockread.options.values import Value

#: Placeholders for a file's name in the name of its done-marker: the whole name, or the part before its last dot.
MARKER_PLACES = ("{name}", "{stem}")
_HOST = re.compile(r"[^\s/:@?#\[\]]+|\[?[0-9A-Fa-f:.]+\]?")


@dataclass(frozen=True, kw_only=True)
class Bounds(Value):
    """Where the links and redirects of a source may lead; a plan passes it to the tasks that read the files.

    Links must lead to a place inside `link_roots` (local roots in canonical form); if it is None, they may lead
    anywhere. A web server may redirect to itself and to `redirect_hosts`.
    """

    kind: ClassVar[str] = "bounds"
    link_roots: Sequence[str] | None = None
    redirect_hosts: Sequence[str] = ()


@dataclass(frozen=True)
class FileSource(Value):
    """Where files land: one or several roots (folders or single files, anything fsspec opens) and which to take.

    `pattern` and `exclude` are globs on the path relative to its root (`**` spans folders), or regular expressions that
    match the whole path, if they begin with `re:`; a path must match one pattern and no exclude. Hidden names (a
    leading `.` or `_`) and names of files being written (`_COPYING_`, `.tmp`, `.part`, `.partial`, `.filepart`,
    `.gstmp`, `.crdownload`) are skipped unless `hidden` is true. `max_depth` counts the names of a path below its root:
    at 1, as with `recursive=False`, no folder is listed.

    Files wait, and each plan counts them, until they are `min_age` old (seconds, or text such as `"5min"`) and their
    `done_marker` exists: `{name}.done` or `{stem}.ok` beside each file, or `_SUCCESS` in its folder. Markers are never
    taken. Files smaller than `min_size` or larger than `max_size` (bytes, or text such as `"1KiB"`) are left out and
    counted.

    A link of a local or SFTP source that leads out of all roots is left out and counted, unless `follow_links` is
    `"anywhere"`. Redirects of a web server are followed to itself and to the `redirect_hosts`.

    `time_pattern` describes where a path contains the file's time, as in `dt=%Y-%m-%d/hr=%H`, and `time_zone` names its
    zone, such as `Europe/Zurich`; without a pattern, a file's time is that of its last modification. `identity` is what
    identifies a file; `"version"` is the only value. `conn_id` names the Airflow connection that opens the roots, or
    maps each root to one: `{"s3://one/in": "aws_one"}`.
    """

    kind: ClassVar[str] = "file_source"
    uris: str | Sequence[str]
    _: KW_ONLY
    pattern: str | Sequence[str] = "**"
    exclude: str | Sequence[str] = ()
    recursive: bool = True
    max_depth: int | None = None
    hidden: bool = False
    min_age: float | str = 0.0  # seconds, or text
    min_size: int | str | None = None
    max_size: int | str | None = None
    done_marker: str | None = None
    time_pattern: str | None = None
    time_zone: str = "UTC"
    follow_links: Literal["inside", "anywhere"] = "inside"
    redirect_hosts: Sequence[str] = ()
    identity: str = "version"
    conn_id: str | Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        if not self.roots or not all(root.strip() for root in self.roots):
            msg = "file_source: uris must name at least one root, and no blank one"
            raise OptionsError(msg)
        line_ends(self.kind, "uris", *self.roots)
        if not self.patterns:
            msg = "file_source: pattern must list at least one; leave it out to take all files"
            raise OptionsError(msg)
        parsed_or_template(self.kind, "min_age", self.min_age, parse_age)
        if self.time_pattern is not None and not is_template(self.time_pattern):
            TimePattern.parse(self.time_pattern, "UTC" if is_template(self.time_zone) else self.time_zone)
        if self.time_pattern is None and self.time_zone != "UTC":
            msg = "file_source: time_zone applies to times in paths; set time_pattern too, or leave time_zone out"
            raise OptionsError(msg)
        self._check_depth()
        self._check_sizes()
        self._check_hosts()
        if self.done_marker is not None and not is_template(self.done_marker):
            _check_marker(self.done_marker)
        if self.identity != "version":
            msg = (
                f"file_source: identity={self.identity!r} is not accepted: a file of the same name in another folder,"
                " and a file that was corrected or completed, would count as read, and its records would be lost; path,"
                " size and modification time (or the store's etag) identify a file. Leave identity out, and decide with"
                " Selection(on_modified=...) about new versions of a known path"
            )
            raise OptionsError(msg)

    def _check_depth(self) -> None:
        if self.max_depth is not None:
            above_zero(self.kind, "max_depth", self.max_depth)
        if not self.recursive and self.max_depth not in {None, 1}:
            msg = (
                f"file_source: recursive=False is a depth of 1, max_depth says {self.max_depth}; leave one of them out"
            )
            raise OptionsError(msg)

    def _check_sizes(self) -> None:
        for name in ("min_size", "max_size"):
            parsed_or_template(self.kind, name, getattr(self, name), parse_size)
        if is_template(f"{self.min_size} {self.max_size}"):
            return
        smallest, largest = self.size_bounds
        if smallest is not None and largest is not None and smallest > largest:
            msg = f"file_source: min_size {self.min_size} is larger than max_size {self.max_size}; correct one of them"
            raise OptionsError(msg)

    def _check_hosts(self) -> None:
        for host in self.redirect_hosts:
            if not (is_template(host) or _HOST.fullmatch(host)):
                msg = (
                    f"file_source: redirect_hosts={self.redirect_hosts!r} must list names of hosts, without scheme,"
                    ' port or path, as ["files.example.com"]'
                )
                raise OptionsError(msg)

    @property
    def roots(self) -> tuple[str, ...]:
        """The roots in the order given."""
        return (self.uris,) if isinstance(self.uris, str) else tuple(self.uris)

    @property
    def patterns(self) -> tuple[str, ...]:
        """The patterns; a path must match one of them."""
        return (self.pattern,) if isinstance(self.pattern, str) else tuple(self.pattern)

    @property
    def excludes(self) -> tuple[str, ...]:
        """The exclude patterns; a path must not match any of them."""
        return (self.exclude,) if isinstance(self.exclude, str) else tuple(self.exclude)

    @property
    def depth(self) -> int | None:
        """The maximum number of names that a path may have below its root, or None for no limit."""
        return self.max_depth if self.recursive else 1

    @property
    def size_bounds(self) -> tuple[int | None, int | None]:
        """The smallest and the largest size to take, in bytes; None for no bound."""
        least, most = self.min_size, self.max_size
        return None if least is None else parse_size(least), None if most is None else parse_size(most)


def _check_marker(text: str) -> None:
    """Refuse a done-marker that is not a file name, or with which each file would be its own marker.

    Raises:
        OptionsError: with the syntax of a marker.
    """
    places = sum(text.count(place) for place in MARKER_PLACES)
    if not text.strip() or "/" in text or places > 1 or text in MARKER_PLACES or text.count("{") > places:
        msg = (
            f"file_source: done_marker={text!r} is not a marker; write a file name, such as"
            " {name}.done or {stem}.ok for each file, or _SUCCESS for its whole folder"
        )
        raise OptionsError(msg)
