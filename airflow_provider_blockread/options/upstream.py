"""Where paths come from that stand for a listing of the source: a file that lists them, or asset events."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Final

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.plan import one_of
from airflow_provider_blockread.options.values import Value

#: What `files` is where nobody gives it: the source is listed. A None is a list that upstream did not make.
NO_LIST: Final = object()
_JSON_LINES = (".jsonl", ".ndjson", ".json")


@dataclass(frozen=True)
class FileList(Value):
    """A file in any store, in UTF-8, that lists the paths to read: as many as there may be.

    `format="text"`: a path a line, as it is; `"json_lines"`: a JSON text a line, or an object with the path as its
    `path`; `"auto"` tells them by the suffix: `.jsonl`, `.ndjson` and `.json` are JSON lines. Blank lines are skipped.
    """

    kind: ClassVar[str] = "file_list"
    uri: str
    _: KW_ONLY
    format: str = "auto"
    conn_id: str | None = None

    def __post_init__(self) -> None:
        """Refuse a blank place and an unknown format."""
        one_of(self.kind, "format", self.format, ("auto", "text", "json_lines"))
        if not self.uri.strip():
            msg = "file_list: uri must name the file that lists the paths"
            raise OptionsError(msg)

    @property
    def is_json(self) -> bool:
        """Whether its lines are JSON."""
        return self.format == "json_lines" or (self.format == "auto" and self.uri.lower().endswith(_JSON_LINES))


@dataclass(frozen=True, kw_only=True)
class EventFiles(Value):
    """The paths that the asset events which started the run name in their extra, those of merged events all together.

    `key` is where they stand in the extra, or in the payload of an event that a watcher made. `asset` (a URI or a name)
    says whose events count; without it, all do. A run that no such event started lists the source.
    """

    kind: ClassVar[str] = "event_files"
    key: str = "paths"
    asset: str | None = None
