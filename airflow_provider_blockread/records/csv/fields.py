"""The fields of one CSV row as Python's `csv` reads them, and rows rewritten so that all parsers agree on them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from airflow_provider_blockread.options import Csv


class Field(NamedTuple):
    """A field's text, whether it began with a quote, and whether that quote was closed."""

    text: str
    quoted: bool
    closed: bool


def names_by_place(places: Iterable[int], taken: Iterable[str]) -> list[str]:
    """Return names for fields without one: `_c3` of the fourth, with more underscores behind it where that is taken."""
    known, names = set(taken), list[str]()
    for place in places:
        name = f"_c{place}"
        while name in known:
            name += "_"
        known.add(name)
        names.append(name)
    return names


@dataclass(frozen=True)
class Dialect:
    """The marks of CSV text, one character each; bytes become characters by `codec` and `surrogateescape`.

    Where every mark is one byte, each byte is a character, so that no other byte can be mistaken for a mark.
    """

    delimiter: str
    quote: str | None
    escape: str | None
    codec: str = "latin-1"

    @property
    def marks(self) -> dict[str, str]:
        """The marks that are set, by name."""
        marks = {"delimiter": self.delimiter, "quote": self.quote, "escape": self.escape}
        return {name: mark for name, mark in marks.items() if mark is not None}

    def escapes(self, text: str) -> bool:
        """Return whether a text contains the escape."""
        return self.escape is not None and self.escape in self.decode(text.encode())

    def decode(self, data: bytes) -> str:
        """Return bytes as characters, with one character for each mark."""
        return data.decode(self.codec, "surrogateescape")

    def encode(self, text: str) -> bytes:
        """Return the original bytes of decoded characters."""
        return text.encode(self.codec, "surrogateescape")

    def fields(self, row: str, null: str = "") -> Iterator[Field]:
        """Yield the fields of a row without its terminator; one that is `null`, without quotes, is empty.

        A closing quote only ends the quoting: the text up to the delimiter belongs to the field, and an escape right
        after the quote is an ordinary character. An escape at the end of the text means a newline.
        """
        null = self.decode(null.encode())
        for match in self._field.finditer(row):  # matches are adjacent, as the pattern matches any text
            quoted = match["body"] is not None
            text = self._unquoted(match) if quoted else self._plain(match["plain"], null)
            yield Field(text, quoted, closed=not quoted or match["rest"] is not None)
            if not match["separator"]:
                return

    def texts(self, row: str) -> list[str]:
        """Return the texts of all fields of a row without its terminator; fast where it has no quote and no escape."""
        if any(mark in row for mark in (self.quote, self.escape) if mark is not None):
            return [field.text for field in self.fields(row)]
        return row.split(self.delimiter)

    def open_quote(self, row: str) -> int | None:
        """Return the position of the quote in a row that is never closed, if any; fast for any number of fields."""
        if self.quote is None:
            return None
        match = self._fields_before_last.match(row)
        last = match.end() if match else 0
        field = self._field.match(row, last)
        return last if field and field["body"] is not None and field["rest"] is None else None

    def rewrite(self, row: bytes, target: Dialect, null: str) -> bytes:
        """Return a row in the target dialect, without any text on which parsers disagree; what is null is empty."""
        return target.join(self.fields(self.decode(row), null))

    def join(self, fields: Iterable[Field]) -> bytes:
        """Return fields as a row, without any text on which parsers disagree.

        One field is held at a time: a row may have as many fields as bytes.
        """
        written, delimiter = bytearray(), self.encode(self.delimiter)
        for field in fields:
            written += self.encode(self._written(field))
            written += delimiter
        return bytes(memoryview(written)[: -len(delimiter)])

    def _written(self, field: Field) -> str:
        text = field.text
        if not field.quoted and not self._special.search(text):
            return text
        if self.quote is None:
            return self._special.sub(lambda match: f"{self.escape}{match[0]}", text)
        if self.escape is not None:
            text = text.replace(self.escape, self.escape * 2)
        return self.quote + text.replace(self.quote, self.quote * 2) + self.quote

    def _unquoted(self, match: re.Match[str]) -> str:
        body, rest = match["body"], match["rest"] or ("\n" if match["cut"] else "")
        if self.quote is not None and self.escape is None:
            return body.replace(self.quote * 2, self.quote) + rest
        literal = len(self.escape or "") if self.escape and rest.startswith(self.escape) else 0
        return self._escaped.sub(lambda pair: pair[0][1], body) + rest[:literal] + self._without_escapes(rest[literal:])

    def _plain(self, text: str, null: str) -> str:
        plain = self._without_escapes(text)
        is_null = null == (text if self.escape is not None and self.escape in null else plain)
        return "" if is_null else plain

    def _without_escapes(self, text: str) -> str:
        if self.escape is None or self.escape not in text:
            return text
        escape = re.escape(self.escape)
        return re.sub(rf"{escape}(.?)", lambda match: match[1] or "\n", text, flags=re.DOTALL)

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        """Matches the pairs inside quotes that mean their second character."""
        quote, escape = re.escape(self.quote or ""), re.escape(self.escape or "")
        return re.compile(rf"{quote}{quote}|{escape}.", re.DOTALL)

    @cached_property
    def _special(self) -> re.Pattern[str]:
        return re.compile(f"[{re.escape(''.join(self.marks.values()))}\r\n]")

    @cached_property
    def _fields_before_last(self) -> re.Pattern[str]:
        delimiter, quote, escape = (re.escape(mark or "") for mark in (self.delimiter, self.quote, self.escape))
        pair = rf"|{escape}." if escape else ""
        literal = rf"(?:{escape})?+" if escape else ""
        text = rf"(?:[^{delimiter}{escape}]++{pair})*+"
        quoted = rf"{quote}(?:[^{quote}{escape}]++|{quote}{quote}{pair})*+{quote}{literal}"
        return re.compile(rf"(?:(?:{quoted}|(?!{quote})){text}{delimiter})*+", re.DOTALL)

    @cached_property
    def _field(self) -> re.Pattern[str]:
        delimiter, escape = re.escape(self.delimiter), re.escape(self.escape or "")
        pair = rf"|{escape}." if escape else ""  # an escape and what it escapes
        last = rf"|{escape}\Z" if escape else ""
        text = rf"(?:[^{delimiter}{escape}]++{pair}{last})*+"
        plain, end = rf"(?P<plain>{text})", rf"(?P<separator>{delimiter}|\Z)"
        if self.quote is None:
            return re.compile(rf"(?:(?P<body>(?!))(?P<rest>)(?P<cut>)|{plain}){end}", re.DOTALL)
        quote = re.escape(self.quote)
        body = rf"(?P<body>(?:[^{quote}{escape}]++|{quote}{quote}{pair})*+)"
        literal = rf"(?:{escape})?" if escape else ""
        rest = rf"(?:{quote}(?P<rest>{literal}{text})|(?P<cut>{literal})\Z)"
        return re.compile(rf"(?:{quote}{body}{rest}|{plain}){end}", re.DOTALL)


def dialect_of(option: Csv) -> Dialect:
    """Return the marks as they occur in text in UTF-8."""
    marks = [_in_utf8(mark, option.encoding) for mark in (option.delimiter, option.quote, option.escape)]
    codec = "latin-1" if all(mark is None or len(mark) == 1 for mark in marks) else "utf-8"
    delimiter, quote, escape = (None if m is None else m.decode(codec, "surrogateescape") for m in marks)
    return Dialect(delimiter or ",", quote, escape, codec)


def _in_utf8(mark: str | bytes | None, encoding: str) -> bytes | None:
    if mark is None or (isinstance(mark, bytes) and encoding in {"utf-8", "binary"}):
        return mark
    if isinstance(mark, str):
        return mark.encode()
    wide = encoding.startswith("utf-")
    return mark.decode("latin-1" if wide else encoding).encode()
