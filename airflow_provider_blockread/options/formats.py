"""Record formats as DAG authors write them; `records` holds what they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.values import Value

#: Values of `encoding` that this version reads: UTF-8 text, checked, or bytes as they are.
ENCODINGS = ("utf-8", "binary")


@dataclass(frozen=True, kw_only=True)
class FormatOption(Value):
    """How bytes become records."""

    def __post_init__(self) -> None:
        """Refuse an unknown encoding."""
        encoding = getattr(self, "encoding", "utf-8")
        if encoding not in ENCODINGS:
            msg = f"{self.kind}: encoding must be one of {', '.join(ENCODINGS)}, not {encoding!r}"
            raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class Lines(FormatOption):
    """One record a line, ended by LF, CR or CRLF (`newline="universal"`) or by LF alone (`"lf"`).

    `encoding="utf-8"` publishes a string column `value`, and a line that is not UTF-8 is a bad record;
    `encoding="binary"` publishes the bytes. A UTF-8 byte order mark at the file's start is skipped in text.
    """

    kind: ClassVar[str] = "lines"
    newline: str = "universal"
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Refuse an unknown newline rule."""
        super().__post_init__()
        if self.newline not in {"universal", "lf"}:
            msg = f"lines: newline must be 'universal' or 'lf', not {self.newline!r}"
            raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class Delimited(FormatOption):
    """Records ended by any byte string; matches are leftmost and do not overlap. Text is encoded as UTF-8."""

    kind: ClassVar[str] = "delimited"
    delimiter: str | bytes = b"\n"
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Refuse an empty delimiter."""
        super().__post_init__()
        if not self.delimiter:
            msg = "delimited: delimiter must hold at least one byte"
            raise OptionsError(msg)

    @property
    def delimiter_bytes(self) -> bytes:
        """The delimiter as it stands in the file."""
        return self.delimiter.encode() if isinstance(self.delimiter, str) else self.delimiter


@dataclass(frozen=True, kw_only=True)
class JsonLines(FormatOption):
    """One JSON object a line, typed by a schema such as `"id long, ts timestamp, msg string"`.

    Fields that the schema does not name are left out; fields that an object lacks are null. Blank lines are
    skipped and counted. Without a schema, the text of each object is published in one column `value`.
    """

    kind: ClassVar[str] = "json_lines"
    schema: str | None = None


@dataclass(frozen=True, kw_only=True)
class Fixed(FormatOption):
    """Records of `length` bytes; a shorter last one fails (`short_last="fail"`) or is a record (`"keep"`)."""

    kind: ClassVar[str] = "fixed"
    length: int = 0
    short_last: str = "fail"
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Refuse a length that is not positive and an unknown rule for the last record."""
        super().__post_init__()
        if not isinstance(self.length, int) or isinstance(self.length, bool) or self.length < 1:
            msg = f"fixed: length must be a whole number of bytes above 0, not {self.length!r}"
            raise OptionsError(msg)
        if self.short_last not in {"fail", "keep"}:
            msg = f"fixed: short_last must be 'fail' or 'keep', not {self.short_last!r}"
            raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class WholeFile(FormatOption):
    """One record a file; an empty file holds none."""

    kind: ClassVar[str] = "whole_file"
    encoding: str = "utf-8"


@dataclass(frozen=True, kw_only=True)
class CustomFormat(FormatOption):
    """A format of your own: a class named by its import path `"package.module:Class"`, built with `options`."""

    kind: ClassVar[str] = "custom"
    path: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Refuse a path that names no class."""
        super().__post_init__()
        module, _, name = self.path.partition(":")
        if not module or not name:
            msg = f"custom: path must read 'package.module:Class', not {self.path!r}"
            raise OptionsError(msg)


#: Format names as users write them, to the option class of each.
FORMATS: Mapping[str, type[FormatOption]] = {
    cls.kind: cls for cls in (Lines, Delimited, JsonLines, Fixed, WholeFile, CustomFormat)
}
