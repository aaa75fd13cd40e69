"""Paths from upstream instead of a listing of the source: a file that lists them, or asset events."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Final, Literal

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.values import Value

#: The default of `files`: the source is listed. None, by contrast, is a list that upstream failed to make.
NO_LIST: Final = object()
_JSON_LINES = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True)
class FileList(Value):
    """A file in any store, in UTF-8, that lists the paths to read; it may be of any length.

    `format="text"`: one path per line; `"json_lines"`: one JSON string, or an object with a `path`, per line; `"auto"`:
    JSON lines for the suffixes `.jsonl`, `.ndjson` and `.json`, text for all others. Blank lines are skipped.
    """

    kind: ClassVar[str] = "file_list"
    uri: str
    _: KW_ONLY
    format: Literal["auto", "text", "json_lines"] = "auto"
    conn_id: str | None = None

    def __post_init__(self) -> None:
        if not self.uri.strip():
            msg = "file_list: uri must name the file that lists the paths"
            raise OptionsError(msg)

    @property
    def is_json(self) -> bool:
        """Whether its lines are JSON."""
        return self.format == "json_lines" or (self.format == "auto" and self.uri.lower().endswith(_JSON_LINES))


@dataclass(frozen=True, kw_only=True)
class EventFiles(Value):
    """The paths in the extra of all asset events that started the run.

    `key` is the key of the paths in the extra, or in the payload of a watcher's event. If `asset` (a URI or a name) is
    given, only its events count. A run that was not started by such an event lists the source.
    """

    kind: ClassVar[str] = "event_files"
    key: str = "paths"
    asset: str | None = None
