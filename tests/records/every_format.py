"""Every format with the pieces of its test data: the list of cases for the laws."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from airflow_provider_blockread.errors import PermanentError
from airflow_provider_blockread.options import (
    Csv,
    CustomFormat,
    Delimited,
    Escaped,
    Fixed,
    FormatOption,
    JsonArray,
    JsonLines,
    Lines,
    WholeFile,
)
from airflow_provider_blockread.records import RecordFormat, make_format
from tests.examples import examples
from tests.records.framing import RefusedError, UnspecifiedError
from tests.records.oracles import BOM, quoted_lines
from tests.records.reading_here import read_block
from tests.records.reference import Records, records_of

QUOTED = CustomFormat(path="quoted_lines:QuotedLines")
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda data: gzip.compress(data, mtime=0),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: pa.compress(data, codec="zstd", asbytes=True),
}
#: What every file may hold besides the format's own special characters.
COMMON = ("a", "b", " ", "\n", "\r", "\r\n", '"', "é", "\x00")


@dataclass(frozen=True, kw_only=True)
class Case:
    """A format, and the pieces of its test data; `around` is before and after nearly all files."""

    id: str
    option: FormatOption
    special: tuple[str | bytes, ...]
    common: tuple[str | bytes, ...] = (*COMMON, BOM, b"\xef")
    encoding: str = "utf-8"  # of the text above
    before: tuple[bytes, ...] = (b"",)
    behind: tuple[bytes, ...] = (b"",)

    @property
    def fmt(self) -> RecordFormat:
        """The format."""
        return make_format(self.option)

    @property
    def step(self) -> int:
        """The step of splits and sizes: one, except for streams, which are not split."""
        return 11 if self.option.compression in COMPRESS else 1

    @property
    def scanned(self) -> bool:
        """Whether the meaning of a byte depends on all earlier ones."""
        option = self.option
        quoting = isinstance(option, Csv) and (option.quote or option.comment)
        return bool(quoting) or isinstance(option, JsonArray) or option == QUOTED

    def records(self, data: bytes) -> Records | None:
        """Return the records of a file, or None where it must be refused.

        Where the definitions leave the records open, all ways of reading must agree with reading the file at once.
        """
        try:
            if self.option == QUOTED:
                return quoted_lines(data, 3 if data.startswith(BOM) else 0)
            return records_of(self.option, data)
        except RefusedError:
            return None
        except UnspecifiedError:
            return outcome(lambda: read_block(self.fmt, io.BytesIO(data), 0, len(data)))

    def files(self, *, pieces: int = 12) -> st.SearchStrategy[bytes]:
        """Return files made mostly of the format's marks."""
        choices = [p if isinstance(p, bytes) else p.encode(self.encoding) for p in self.special * 3 + self.common]
        body = st.lists(st.sampled_from(choices), max_size=pieces).map(b"".join)
        before, behind = st.sampled_from(self.before), st.sampled_from(self.behind)
        plain = st.tuples(before, body, behind).map(b"".join)
        compress = COMPRESS.get(self.option.compression)
        # A compressed file of no bytes is no file of its codec, and blocks that hold nothing cannot tell.
        return (
            plain
            if compress is None
            else st.lists(plain, min_size=1, max_size=3).map(lambda p: b"".join(map(compress, p)))
        )


def of_files(count: int) -> settings:
    """Return settings for that many examples of each case, many of which are invalid files."""
    return examples(count, suppress_health_check=[HealthCheck.filter_too_much])


def outcome(read: Callable[[], Records]) -> Records | None:
    """Return what was read, or None where it was refused."""
    try:
        return read()
    except PermanentError:
        return None


def _delimited(delimiter: bytes) -> Case:
    return Case(
        id=f"delimited {delimiter!r}",
        option=Delimited(delimiter=delimiter, encoding="binary"),
        special=(delimiter, delimiter[:1], delimiter[1:], delimiter[:-1]),
    )


_SIMPLE = [
    Case(id="lines", option=Lines(), special=("\n", "\r", "\r\n")),
    Case(id="lines lf", option=Lines(newline="lf"), special=("\n", "\r")),
    Case(id="lines skipped", option=Lines(skip_lines=2), special=("\n", "\r", "\r\n")),
    Case(id="lines skipped lf", option=Lines(skip_lines=1, newline="lf"), special=("\n", "\r")),
    Case(id="lines binary", option=Lines(encoding="binary"), special=("\n", "\r", b"\xff")),
    *map(_delimited, (b"\n", b"||", b"\n\n", b"abab", b"aabaa", b"ab", b"\r\n", b"aaa")),
    Case(id="json_lines", option=JsonLines(), special=("\n", " ", "{}", "\r\n")),
    Case(id="fixed 1", option=Fixed(length=1), special=("a",)),
    Case(id="fixed 3", option=Fixed(length=3, short_last="keep"), special=("abc",)),
    Case(id="whole_file", option=WholeFile(), special=("\n",)),
]


def _escaped(delimiter: str | None, escape: str = "\\", *, unescape: bool = False) -> Case:
    ends = ("\n", "\r", "\r\n") if delimiter is None else (delimiter, delimiter[:1], delimiter[-1:])
    return Case(
        id=f"escaped {delimiter or 'newline'!r} by {escape!r}{' unescaped' * unescape}",
        option=Escaped(delimiter=delimiter, escape=escape, unescape=unescape),
        special=(*ends, escape, escape * 2),
    )


_ESCAPED = [
    _escaped(None),
    _escaped(None, unescape=True),
    _escaped(None, "^"),
    _escaped(";"),
    _escaped("||", unescape=True),
    _escaped("ab", "^"),
    _escaped("aabaa", unescape=True),
    _escaped("\n\n"),
]


def _csv(what: str, option: Csv, *marks: str | bytes) -> Case:
    return Case(id=f"csv {what}", option=option, special=("\n", "\r", "\r\n", *marks, *marks))


_CSV = [
    _csv("default", Csv(), ",", '"', '""'),
    _csv("other marks", Csv(delimiter=";", quote="'"), ";", "'", ","),
    _csv("control byte", Csv(delimiter=b"\x01"), "\x01", '"'),
    _csv("tab", Csv(delimiter="\t"), "\t", '"'),
    _csv("no quotes", Csv(quote=None), ","),
    _csv("escape", Csv(escape="\\"), ",", '"', "\\", "\\\\"),
    _csv("escape, no quotes", Csv(quote=None, escape="\\"), ",", "\\", "\\\\"),
    _csv("comment", Csv(comment="#"), ",", '"', "#", "\n#"),
    _csv("comment, escape", Csv(comment="#", escape="\\", delimiter=";"), ";", '"', "#", "\\", "\n#"),
    _csv("comment, no quotes", Csv(comment="#", quote=None), ",", "#", "\n#"),
    _csv("header", Csv(header=True), ",", '"', '""'),
    _csv("skipped", Csv(skip_lines=1), ",", '"', '""'),
    _csv("skipped, header, comment", Csv(skip_lines=2, header=True, comment="#"), ",", '"', "#", "\n#"),
    _csv("header, comment", Csv(header=True, comment="#"), ",", '"', "#", "\n#"),
]
_ELEMENTS = (
    '{"a": "x],"}',
    '"\\""',
    '"\\\\"',
    "1",
    " ",
    "\n",
    "[1, [2]]",
    ", ",
    ",",
    ",",
    ",",
    "{}",
    '"[,"',
    "\t",
    '1""',
)
_UNEVEN = ('"', "\\", "]", "[", "}", "{", "a", "é")


def _json(layout: str, elements: tuple[str, ...], *around: tuple[bytes, ...]) -> Case:
    before, behind = around or ((b"",), (b"",))
    return Case(
        id=f"json {layout}",
        option=JsonArray(layout=layout),
        special=elements,
        common=_UNEVEN,
        before=before,
        behind=behind,
    )


_JSON = [
    _json("array", _ELEMENTS, (b"[", b" \n[ ", BOM + b"["), (b"]", b" ]\n ", b"")),
    _json("values", _ELEMENTS),
    _json("auto", _ELEMENTS, (b"[", b""), (b"]", b"]", b"\n")),
]


def _encoded(option: FormatOption, *marks: str, odd: tuple[bytes, ...] = (), bom: bytes = b"") -> Case:
    name = option.encoding  # type: ignore[attr-defined]
    text = f"{name}-le" if name in {"utf-16", "utf-32"} else name
    extra = ("é", "§") if len("a".encode(text)) == 1 else ("é", "§", "\U0001f600", "\u0a0a", "\u220d")
    own = tuple(m for m in COMMON if m != "é")
    return Case(
        id=f"{option.kind} {name} {''.join(marks)!r}{' marked' * bool(bom)}",
        option=option,
        special=("\n", "\r\n", *marks),
        common=(*own, *extra, *odd),
        encoding=text,
        before=(bom,),
    )


_LONE_LE, _LONE_BE = b"\x3d\xd8", b"\xd8\x3d"
_ENCODED = [
    _encoded(Lines(encoding="utf-16-le"), "\r", odd=(_LONE_LE, b"\n")),
    _encoded(Lines(encoding="utf-16-be"), "\r", odd=(_LONE_BE, b"\n")),
    _encoded(Lines(encoding="utf-16"), "\r", bom=b"\xff\xfe"),
    _encoded(Lines(encoding="utf-32-be"), "\r", odd=(b"\x00",)),
    _encoded(Lines(encoding="utf-32"), bom=b"\xff\xfe\x00\x00"),
    _encoded(Lines(encoding="cp1252"), odd=(b"\x81",)),
    _encoded(Lines(encoding="cp037", skip_lines=1), "\r"),
    _encoded(Delimited(delimiter="||", encoding="utf-16-le"), "|", "||", odd=(b"|", _LONE_LE)),
    _encoded(Delimited(delimiter="§", encoding="utf-16-be"), "§", odd=(b"\xa7",)),
    _encoded(Delimited(delimiter="\U0001f600", encoding="utf-16-le"), "\U0001f600", odd=(_LONE_LE,)),
    _encoded(Delimited(delimiter="é", encoding="latin-1"), "é"),
    _encoded(Escaped(encoding="utf-16-le"), "\\", odd=(b"\\",)),
    _encoded(Escaped(delimiter="§", unescape=True, encoding="utf-16-be"), "\\", "§"),
    _encoded(Escaped(unescape=True, encoding="latin-1"), "\\"),
    _encoded(Csv(encoding="utf-16-le"), '"', ",", odd=(b'"',)),
    _encoded(Csv(encoding="utf-16", header=True), '"', ",", bom=b"\xff\xfe"),
    _encoded(Csv(encoding="utf-32-be", skip_lines=1), '"', ","),
    _encoded(Csv(encoding="cp1252", delimiter="§"), '"', "§", odd=(b"\x81",)),
    _encoded(Csv(encoding="cp037"), '"', ","),
    Case(id="lines marked utf-16", option=Lines(), special=("\n", "\r"), encoding="utf-16-be", before=(b"\xfe\xff",)),
]

#: Formats of files whose offsets are those of records.
FORMATS = [
    *_SIMPLE,
    *_ESCAPED,
    *_CSV,
    *_JSON,
    *_ENCODED,
    Case(id="quoted_lines", option=QUOTED, special=('"', "\n", '"\n"')),
]


def _compressed(codec: str, option: FormatOption, *marks: str) -> Case:
    return Case(id=f"{option.kind} {codec}", option=option, special=("\n", "\r\n", *marks))


#: Formats of compressed files.
COMPRESSED = [
    _compressed("gzip", Lines(compression="gzip")),
    _compressed("bzip2", Csv(compression="bzip2", header=True), '"', ","),
    _compressed("zstd", Lines(compression="zstd", skip_lines=1)),
    _compressed("xz", Escaped(compression="xz", unescape=True), "\\"),
    _compressed("zstd", JsonLines(compression="zstd"), "{}"),
]
