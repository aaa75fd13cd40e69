"""The records of a file according to its format option: decompressed, decoded and framed by plain Python."""

from __future__ import annotations

import bz2
import lzma
import re
import zlib
from dataclasses import dataclass, replace

import pyarrow as pa

from airflow_provider_blockread.options import (
    Csv,
    Delimited,
    Escaped,
    Fixed,
    FormatOption,
    JsonArray,
    JsonLines,
    Lines,
    WholeFile,
)
from tests.records.framing import (
    CsvMarks,
    RefusedError,
    Row,
    Spans,
    UnspecifiedError,
    csv_rows,
    ended_by,
    escaped,
    json_array,
    json_values,
)

Records = list[tuple[int, bytes]]

#: Stands for a record that is not of its file's encoding.
UNREADABLE = b"\x00 not of its encoding"

_WIDTHS = {"utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
_OPEN = {"utf-16", "utf-32"}
_MARKS = {
    b"\xff\xfe\x00\x00": "utf-32-le",
    b"\x00\x00\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
    b"\xef\xbb\xbf": "utf-8",
}


@dataclass(frozen=True)
class Text:
    """A file as text, one character for each code unit; an incomplete unit at the end is one more character."""

    data: bytes
    encoding: str
    start: int

    @property
    def width(self) -> int:
        """Bytes of a code unit."""
        return _WIDTHS.get(self.encoding, 1)

    @property
    def units(self) -> str:
        """The characters."""
        return units_of(self.data[self.start :], self.encoding)

    def place(self, index: int) -> int:
        """Return the byte where a character begins."""
        return min(self.start + index * self.width, len(self.data))

    def content(self, start: int, end: int) -> bytes:
        """Return characters as UTF-8; bytes of the encoding `binary` are unchanged."""
        raw = self.data[self.place(start) : self.place(end)]
        if self.encoding in {"utf-8", "binary"}:
            return raw
        try:
            return raw.decode(self.encoding).encode()
        except UnicodeDecodeError:
            return UNREADABLE


def units_of(data: bytes, encoding: str) -> str:
    """Return one character for each code unit, valid or not."""
    width = _WIDTHS.get(encoding, 1)
    if width == 1:
        name = "latin-1" if encoding in {"utf-8", "binary"} else encoding
        return "".join(bytes([byte]).decode(name, "replace") for byte in data)
    order = "little" if encoding.endswith("le") else "big"
    pieces = [data[i : i + width] for i in range(0, len(data), width)]
    numbers = [int.from_bytes(piece, order) if len(piece) == width else 0xFFFD for piece in pieces]
    return "".join(chr(number if number < 0x110000 else 0xFFFD) for number in numbers)


def text_of(data: bytes, encoding: str) -> Text:
    """Return a file as text, by its byte order mark where the encoding leaves the order open.

    Raises:
        RefusedError: when a byte order mark is required and missing, or contradicts the encoding.
        UnspecifiedError: when the file is empty and its encoding unknown.
    """
    if encoding not in {"utf-8", *_OPEN, *_WIDTHS}:
        return Text(data, encoding, 0)
    found = next((mark for mark in _MARKS if data.startswith(mark)), b"")
    name = _MARKS.get(found, encoding)
    if name.startswith("utf-32-le") and encoding.startswith("utf-16"):
        raise UnspecifiedError  # the mark of UTF-16 and a NUL
    if name in _OPEN:
        raise RefusedError if data else UnspecifiedError
    if found and encoding in _WIDTHS and name != encoding:
        if _WIDTHS.get(name) == _WIDTHS[encoding]:
            raise RefusedError
        raise UnspecifiedError
    if found and encoding in _OPEN and not name.startswith(encoding):
        raise UnspecifiedError
    return Text(data, name, len(found))


def decompressed(data: bytes, codec: str) -> bytes:
    """Return what the standard library (Arrow for zstd) decodes, stream by stream.

    Raises:
        RefusedError: when it is truncated, or has other data after a stream.
        UnspecifiedError: when it is empty, or has only padding after a stream.
    """
    if not data:
        raise UnspecifiedError
    if codec == "zstd":
        try:
            with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
                return stream.read()
        except OSError as error:
            raise RefusedError from error
    plain, first = b"", True
    while data:
        if not first and not data.strip(b"\0"):
            raise UnspecifiedError
        decoder, first = _DECODERS[codec](), False
        try:
            plain += decoder.decompress(data)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            raise RefusedError from error
        if not decoder.eof:
            raise RefusedError
        data = decoder.unused_data
    return plain


_DECODERS = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(format=lzma.FORMAT_XZ),
}


def records_of(option: FormatOption, data: bytes) -> Records:
    """Return (offset, content) of each record; offsets count decompressed bytes.

    Raises:
        RefusedError: when the file is invalid in that format.
        UnspecifiedError: when the format's definition leaves its records open.
    """
    if option.compression not in {"auto", "none"}:
        data = decompressed(data, option.compression)
    if isinstance(option, (Fixed, WholeFile)):
        text = text_of(data, option.encoding) if option.encoding in _WIDTHS else Text(data, option.encoding, 0)
        length = option.length if isinstance(option, Fixed) else max(len(data), 1)
        if isinstance(option, Fixed) and option.short_last == "fail" and len(data) % length:
            raise RefusedError
        places = range(0, len(data), length)
        return [(i, Text(data[i : i + length], text.encoding, 0).content(0, length)) for i in places]
    text = behind_skipped(option, text_of(data, getattr(option, "encoding", "utf-8")))
    contents = [(text.place(start), text.content(start, end)) for start, end in _spans(option, text)]
    return [(offset, _unescaped(option, content)) for offset, content in contents]


def behind_skipped(option: FormatOption, text: Text) -> Text:
    """Return the text behind the lines that the option skips."""
    count, newline = getattr(option, "skip_lines", 0), getattr(option, "newline", "universal")
    ends = [0, *(end.end() for end in re.finditer("\n" if newline == "lf" else r"\r\n|\r|\n", text.units))]
    return replace(text, start=text.place(ends[count] if count < len(ends) else len(text.units)))


def _spans(option: FormatOption, text: Text) -> Spans:
    units = text.units
    match option:
        case Lines():
            return ended_by(r"\r\n|\r|\n" if option.newline == "universal" else "\n", units, 0)
        case Delimited():
            return ended_by(re.escape(mark(option.delimiter, text.encoding)), units, 0)
        case Escaped():
            delimiter = None if option.delimiter is None else mark(option.delimiter, text.encoding)
            return escaped(units, 0, delimiter, mark(option.escape, text.encoding))
        case JsonLines():
            return [span for span in ended_by("\n", units, 0) if units[slice(*span)].strip(" \t\r")]
        case JsonArray():
            return _json_spans(option, units)
        case Csv():
            return [(row.start, row.end) for row in rows_of(option, text) if not row.comment]
    raise UnspecifiedError


def _json_spans(option: JsonArray, units: str) -> Spans:
    begins_as_array = units.lstrip(" \t\r\n").startswith("[")
    if option.layout == "array" or (option.layout == "auto" and begins_as_array):
        return json_array(units, 0)
    return json_values(units, 0)


def mark(value: str | bytes | None, encoding: str) -> str:
    """Return a mark of the format in code units; an absent one is the empty text."""
    if value is None:
        return ""
    name = "utf-8" if encoding == "binary" else encoding
    return units_of(value if isinstance(value, bytes) else value.encode(name), encoding)


def rows_of(option: Csv, text: Text) -> list[Row]:
    """Return the rows after the header, comment lines among them.

    Raises:
        RefusedError: when the header is not of the file's encoding, or ends inside quotes.
        UnspecifiedError: when a header is required, and there is no row for it.
    """
    marks = {what: mark(getattr(option, what), text.encoding) for what in ("delimiter", "quote", "escape", "comment")}
    rows = csv_rows(text.units, 0, CsvMarks(**marks))
    if not option.header or not rows:
        return rows
    heads = [i for i, row in enumerate(rows) if not row.comment and row.end > row.start]
    if not heads:
        raise UnspecifiedError
    if rows[heads[0]].opened is not None:
        raise RefusedError
    _check_header(text, rows[heads[0]])
    return rows[heads[0] + 1 :]


def _check_header(text: Text, row: Row) -> None:
    content = text.content(row.start, row.end)
    try:
        content.decode()
    except UnicodeDecodeError as error:
        raise (UnspecifiedError if text.encoding == "binary" else RefusedError) from error
    if content == UNREADABLE:
        raise RefusedError


def _unescaped(option: FormatOption, content: bytes) -> bytes:
    if not isinstance(option, Escaped) or not option.unescape or content == UNREADABLE:
        return content
    escape = option.escape if isinstance(option.escape, bytes) else option.escape.encode()
    return re.sub(re.escape(escape) + rb"(\r\n|.)", rb"\1", content, flags=re.DOTALL)
