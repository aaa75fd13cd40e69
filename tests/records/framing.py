"""How text is split into records, from the definitions: one character after the other, without package code.

A text has one character for each code unit of a file. Each framing returns spans `(start, end)` of records' contents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

Spans = list[tuple[int, int]]

NEWLINE = re.compile(r"\r\n|\r|\n")
_BLANK = " \t\r\n"


class RefusedError(Exception):
    """A file that is invalid in its format: every way of reading it must fail."""


class UnspecifiedError(Exception):
    """A file whose records the definitions leave open; all ways of reading it must agree."""


def ended_by(pattern: str, text: str, start: int) -> Spans:
    """Return the pieces between leftmost matches of a pattern; nothing follows a match at the end of the text."""
    spans = []
    for match in re.compile(pattern).finditer(text, start):
        spans.append((start, match.start()))
        start = match.end()
    return [*spans, (start, len(text))] if start < len(text) else spans


def escaped(text: str, start: int, delimiter: str | None, escape: str) -> Spans:
    """Return the pieces between newlines, or delimiters, that are not escaped."""
    ends = NEWLINE if delimiter is None else re.compile(re.escape(delimiter))
    spans, place = [], start
    while place < len(text):
        if text[place] == escape:
            ended = ends.match(text, place + 1)
            place = ended.end() if ended else place + 2
        elif ended := ends.match(text, place):
            spans.append((start, place))
            start = place = ended.end()
        else:
            place += 1
    return [*spans, (start, len(text))] if start < len(text) else spans


@dataclass(frozen=True, kw_only=True)
class CsvMarks:
    """The characters with a meaning in csv; an absent one is the empty text."""

    delimiter: str
    quote: str = ""
    escape: str = ""
    comment: str = ""


@dataclass(kw_only=True)
class Row:
    """A row of csv: its content is `[start, end)`, and the next row starts at `next`."""

    start: int
    end: int = 0
    next: int = 0
    comment: bool = False
    fields: list[str] = field(default_factory=list)
    quoted: list[bool] = field(default_factory=list)  # whether a field began with a quote
    opened: int | None = None  # where a quote opened that is never closed


def csv_rows(text: str, start: int, marks: CsvMarks) -> list[Row]:
    """Return the rows as Python's csv reads them, and comment lines."""
    rows = []
    while start < len(text):
        row = _comment(text, start) if text[start] == marks.comment else _csv_row(text, start, marks)
        rows.append(row)
        start = row.next
    return rows


def _comment(text: str, start: int) -> Row:
    newline = NEWLINE.search(text, start)
    end, following = newline.span() if newline else (len(text), len(text))
    return Row(start=start, end=end, next=following, comment=True)


def _csv_row(text: str, start: int, marks: CsvMarks) -> Row:
    row, value, quoted, state, opened, place = Row(start=start), "", False, "field start", 0, start
    while place < len(text):
        before, c = state, text[place]
        state, added = (_in_quotes if state.endswith("in quotes") else _outside)(state, c, marks)
        if state == "row end":
            break
        value += added
        if state == "field start":
            row.fields.append(value)
            row.quoted.append(quoted)
            value, quoted = "", False
        elif (before, state) == ("field start", "in quotes"):
            quoted, opened = True, place
        place += 1
    newline = NEWLINE.match(text, place)
    row.end, row.next = place, newline.end() if newline else place
    if place > start:
        row.fields.append(value + "\n" * state.startswith("escaped"))  # Python's own quirk at the end of a file
        row.quoted.append(quoted)
    row.opened = opened if state.endswith("in quotes") else None
    return row


def _in_quotes(state: str, c: str, marks: CsvMarks) -> tuple[str, str]:
    """Return the state after a character, and the text that it adds to the field."""
    if state == "escaped in quotes" or c not in {marks.escape, marks.quote}:
        return "in quotes", c
    return "escaped in quotes" if c == marks.escape else "quote behind quotes", ""


def _outside(state: str, c: str, marks: CsvMarks) -> tuple[str, str]:
    """Return the state after a character, and the text that it adds to the field."""
    if state == "escaped":
        return "in field", c
    if state == "quote behind quotes" and c == marks.quote:
        return "in quotes", c
    if c in {"\r", "\n", marks.delimiter}:
        return "field start" if c == marks.delimiter else "row end", ""
    if state == "field start" and c == marks.quote:
        return "in quotes", ""
    literal = state == "quote behind quotes" or c != marks.escape
    return "in field" if literal else "escaped", c * literal


def _strings(text: str, start: int) -> tuple[list[bool], list[int]]:
    """Return for each character whether it is in a string, quotes included, and where strings begin and end."""
    inside, run, marks, quotes = False, 0, [False] * start, []
    for c in text[start:]:
        quote = c == '"' and run % 2 == 0
        quotes += [len(marks)] * quote
        marks.append(inside or quote)
        inside ^= quote
        run = run + 1 if c == "\\" else 0
    return marks, quotes


def json_array(text: str, start: int) -> Spans:
    """Return the elements of the array that fills the text, including empty ones."""
    spans, depth, (strings, _) = [], 0, _strings(text, start)
    place = _behind_blanks(text, start)
    if text[place : place + 1] != "[":
        raise UnspecifiedError
    place = begin = _behind_blanks(text, place + 1)
    while place < len(text):
        c = "" if strings[place] else text[place]
        if depth == 0 and c == "}":
            raise UnspecifiedError
        if depth == 0 and c in {",", "]"}:
            if spans or c == "," or place > begin:
                spans.append((begin, begin + len(text[begin:place].rstrip(_BLANK))))
            place = _behind_blanks(text, place + 1)
            if c == "]":
                return _filled(text, place, spans)
            begin = place
            continue
        depth += (c in {"[", "{"}) - (c in {"]", "}"})
        place += 1
    raise RefusedError


def _filled(text: str, place: int, spans: Spans) -> Spans:
    if place < len(text):
        raise RefusedError
    return spans


def _behind_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place] in _BLANK:
        place += 1
    return place


def json_values(text: str, start: int) -> Spans:
    """Return the values of a sequence."""
    spans, depth, (strings, quotes) = [], 0, _strings(text, start)
    begin = place = _behind_blanks(text, start)
    while place < len(text):
        c = "" if strings[place] else text[place]
        if depth == 0 and place > begin and (c in {"[", "{"} or place in quotes[::2]):
            spans.append((begin, place))
            begin = place
        depth += (c in {"[", "{"}) - (c in {"]", "}"})
        if depth < 0:
            raise UnspecifiedError
        place += 1
        if depth == 0 and ((c and c in "]}" + _BLANK) or place - 1 in quotes[1::2]):
            spans.append((begin, begin + len(text[begin:place].rstrip(_BLANK))))
            begin = place = _behind_blanks(text, place)
    if depth or len(quotes) % 2:
        raise UnspecifiedError
    return [*spans, (begin, len(text))] if begin < len(text) else spans
