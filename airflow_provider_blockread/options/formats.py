"""Record formats as DAG authors write them; `records` implements them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.options.checks import import_path, one_of, only_json, zero_or_above
from airflow_provider_blockread.options.parsing.encodings import UNIT_BYTES, encode_text, normal_encoding
from airflow_provider_blockread.options.values import Value


@dataclass(frozen=True, kw_only=True)
class FormatOption(Value):
    """How bytes become records: the base class of all record formats.

    `compression` is `"auto"` (by the file's suffix), `"none"`, or the codec of all files: gzip, bzip2, xz, zstd.
    A compressed file is one block. If a format has an `encoding`, it is `"utf-8"`, `"binary"` (unchanged bytes),
    `"utf-16"` or `"utf-32"` (with `-le` or `-be`, or by the byte order mark), or a single-byte encoding such as
    `"cp1252"`; records are published in UTF-8.
    """

    holds_members: ClassVar[bool] = False  # the files are merged files; those in Parquet are decoded
    too_long: ClassVar[str] = "correct the format's options"  # what to do about a record that is longer than allowed
    compression: Literal["auto", "none", "gzip", "bzip2", "xz", "zstd"] = "auto"

    def __post_init__(self) -> None:
        """Refuse an unknown encoding, and normalise its name."""
        if hasattr(self, "encoding"):
            object.__setattr__(self, "encoding", normal_encoding(self.kind, self.encoding))

    @property
    def reads_empty(self) -> bool:
        """Whether an empty file may hold a record."""
        return False


def _one_byte(kind: str, what: str, value: str | bytes, encoding: str) -> None:
    """Refuse a delimiter, quote or other mark that is not one byte, or one code unit of a wide encoding."""
    unit = UNIT_BYTES.get(encoding, 1)
    if len(encode_text(kind, value, encoding)) != unit:
        kind_of = "single byte" if unit == 1 else f"single character of {unit} bytes in {encoding}"
        msg = f"{kind}: {what} must be a {kind_of}, not {value!r}"
        raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class Lines(FormatOption):
    """One record per line, ended by LF, CR or CRLF (`newline="universal"`) or by LF alone (`"lf"`).

    `encoding="utf-8"` publishes a string column `value`, and a line that is not UTF-8 is a bad record;
    `encoding="binary"` publishes the bytes. In text, a UTF-8 byte order mark at the start of the file is skipped; so
    are the first `skip_lines` lines of every file.
    """

    kind: ClassVar[str] = "lines"
    newline: Literal["universal", "lf"] = "universal"
    encoding: str = "utf-8"
    skip_lines: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        zero_or_above(self.kind, "skip_lines", self.skip_lines)


@dataclass(frozen=True, kw_only=True)
class Delimited(FormatOption):
    """Records that end at a delimiter: bytes, or text, which is encoded like the file.

    Matches are leftmost and do not overlap.
    """

    kind: ClassVar[str] = "delimited"
    delimiter: str | bytes = "\n"
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.delimiter_bytes:
            msg = "delimited: delimiter must hold at least one byte"
            raise OptionsError(msg)

    @property
    def delimiter_bytes(self) -> bytes:
        """The delimiter as it is encoded in the file."""
        return encode_text(self.kind, self.delimiter, self.encoding)


@dataclass(frozen=True, kw_only=True)
class Escaped(FormatOption):
    r"""Records that end at an unescaped newline (LF, CR or CRLF), or at an unescaped `delimiter`.

    An `escape` byte removes the meaning of a newline, delimiter or escape after it: a record ends after an even number
    of escapes and continues after an odd number. `unescape=True` removes the escapes from the published records.
    """

    kind: ClassVar[str] = "escaped"
    delimiter: str | bytes | None = None
    escape: str | bytes = "\\"
    unescape: bool = False
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        """Refuse an empty delimiter, a longer escape, and an escape that is part of the delimiter."""
        super().__post_init__()
        _one_byte(self.kind, "escape", self.escape, self.encoding)
        if self.delimiter is not None and not self.delimiter:
            msg = "escaped: delimiter must hold at least one byte; leave it out for newlines"
            raise OptionsError(msg)
        escape = encode_text(self.kind, self.escape, self.encoding)
        ends = "\n\r" if self.delimiter is None else self.delimiter
        if escape in encode_text(self.kind, ends, self.encoding):
            msg = f"escaped: the escape {self.escape!r} must not be part of the delimiter {ends!r}; choose another"
            raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class Csv(FormatOption):
    """Rows of separated fields, which may be quoted and contain newlines, read as Python's `csv` reads them.

    Newlines are LF, CR and CRLF. `quote=None` turns quoting off; `escape` and `comment` (lines that begin with it are
    skipped) are off by default. Columns come from `schema` (`"id long, ts timestamp"`); without it, names come from
    the header, or are `_c0`, `_c1` and so on, and types come from a sample of the window's files and are fixed for the
    generation. With `header=True` the first row of every file names its columns: either it must equal the columns
    (`columns="equal"`), or fields are assigned to columns by name and missing ones are null (`"by_name"`); with
    `"known_names"` all names must then be those of columns, as by name where the columns are inferred. An unquoted
    field that is empty or equals `null` is null. With `rescue=True` the column `_rescued` holds what fits no column.
    The first `skip_lines` lines of every file, whatever they contain, come before its rows and its header.
    """

    kind: ClassVar[str] = "csv"
    delimiter: str | bytes = ","
    quote: str | bytes | None = '"'
    escape: str | bytes | None = None
    comment: str | bytes | None = None
    header: bool = False
    columns: Literal["equal", "by_name", "known_names"] = "equal"
    schema: str | None = None
    null: str = ""
    encoding: str = "utf-8"
    rescue: bool = False
    skip_lines: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        zero_or_above(self.kind, "skip_lines", self.skip_lines)
        marks: dict[bytes, str] = {}
        for what in ("delimiter", "quote", "escape", "comment"):
            value = getattr(self, what)
            if value is None:
                continue
            _one_byte(self.kind, what, value, self.encoding)
            mark = encode_text(self.kind, value, self.encoding)
            if mark in {encode_text(self.kind, newline, self.encoding) for newline in "\r\n"}:
                msg = f"csv: {what} must not be a newline; choose another character"
                raise OptionsError(msg)
            if mark in marks:
                doubled = ", as doubled quotes are always read" if (marks[mark], what) == ("quote", "escape") else ""
                msg = (
                    f"csv: {marks[mark]} and {what} must not be the same byte {value!r}; choose another {what}, or none"
                    f" with {what}=None{doubled}"
                )
                raise OptionsError(msg)
            marks[mark] = what
        if self.columns != "equal" and not self.header:
            msg = f"csv: columns={self.columns!r} needs header=True"
            raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class JsonLines(FormatOption):
    """One JSON object per line, typed by a schema such as `"id long, ts timestamp, msg string"`.

    Fields that the schema does not name are left out; fields that an object lacks are null. Blank lines are
    skipped and counted. Without a schema, the text of each object is published in one column `value`. With
    `rescue=True` the column `_rescued` holds what fits no column.
    """

    kind: ClassVar[str] = "json_lines"
    schema: str | None = None
    rescue: bool = False


@dataclass(frozen=True, kw_only=True)
class JsonArray(FormatOption):
    """The elements of a JSON array that spans the file, or a sequence of JSON values; pretty-printed or not.

    `layout` is `"array"`, `"values"`, or `"auto"`: an array if the file's first character is `[`. With a `schema`
    such as `"id long, msg string"` every element must be an object; without one, its text is published. `rescue` works
    as in `JsonLines`.
    """

    kind: ClassVar[str] = "json_array"
    schema: str | None = None
    layout: Literal["auto", "array", "values"] = "auto"
    rescue: bool = False


@dataclass(frozen=True, kw_only=True)
class Fixed(FormatOption):
    """Records of `length` bytes; a shorter last one is an error (`short_last="fail"`) or a record (`"keep"`)."""

    kind: ClassVar[str] = "fixed"
    length: int = 0
    short_last: Literal["fail", "keep"] = "fail"
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.length, int) or isinstance(self.length, bool) or self.length < 1:
            msg = f"fixed: length must be a whole number of bytes above 0, not {self.length!r}"
            raise OptionsError(msg)
        if self.length % UNIT_BYTES.get(self.encoding, 1):
            unit = UNIT_BYTES[self.encoding]
            msg = f"fixed: length counts bytes and must be a multiple of {unit} in {self.encoding}, not {self.length}"
            raise OptionsError(msg)


@dataclass(frozen=True, kw_only=True)
class WholeFile(FormatOption):
    """One record per file; an empty file holds no record, or with `keep_empty` an empty one."""

    kind: ClassVar[str] = "whole_file"
    too_long: ClassVar[str] = "exclude the file with `blockread windows exclude`"
    encoding: str = "utf-8"
    keep_empty: bool = False

    @property
    def reads_empty(self) -> bool:
        """Whether an empty file may hold a record."""
        return self.keep_empty


@dataclass(frozen=True, kw_only=True)
class Members(FormatOption):
    """One record per member of a merged file, with its name in `_file` and its time in `_modified`.

    Merged files are archives, each with its index beside it, or Parquet files with these columns.
    """

    kind: ClassVar[str] = "members"
    holds_members: ClassVar[bool] = True
    too_long: ClassVar[str] = "exclude the merged file with `blockread windows exclude`"
    compression: Literal["auto", "none", "zstd"] = "auto"
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of(self.kind, "encoding", self.encoding, ("utf-8", "binary"))

    @property
    def reads_empty(self) -> bool:
        """True, because all members may be empty."""
        return True


@dataclass(frozen=True, kw_only=True)
class CustomFormat(FormatOption):
    """A format of your own: a class, by its import path `"package.module:Class"`, and its arguments in `options`."""

    kind: ClassVar[str] = "custom"
    path: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    encoding: str = "utf-8"

    def __post_init__(self) -> None:
        super().__post_init__()
        import_path(self.kind, self.path, "Class")
        only_json(self.kind, self.options)


#: The option class of each format, by the name that users write.
FORMATS: Mapping[str, type[FormatOption]] = {
    cls.kind: cls
    for cls in (Lines, Delimited, Escaped, Csv, JsonLines, JsonArray, Fixed, WholeFile, Members, CustomFormat)
}
