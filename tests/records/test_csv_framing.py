"""Csv rows are those of Python's `csv`, at every split: against an automaton that goes byte by byte."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_provider_blockread.records import RecordFormat, StateMap, read_records, record_format, scan_block
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import first_start

START, FIELD, TEXT, QUOTED, QUOTE, ESCAPED, ESCAPED_QUOTED, COMMENT = range(8)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """The marks of a csv file."""

    delimiter: str = ","
    quote: str | None = '"'
    escape: str | None = None
    comment: str | None = None

    @property
    def id(self) -> str:
        """The marks, in a row."""
        return " ".join(repr(mark) for mark in (self.delimiter, self.quote, self.escape, self.comment))

    @property
    def fmt(self) -> RecordFormat:
        """The format under test."""
        return record_format(
            "csv", delimiter=self.delimiter, quote=self.quote, escape=self.escape, comment=self.comment
        )

    def step(self, state: int, char: str) -> int:
        """Return the state behind one character; CR and LF each end a row."""
        newline = char in "\r\n"
        if state == COMMENT or (state == START and char == self.comment):
            return START if newline else COMMENT
        if state == ESCAPED:
            return TEXT
        if state == QUOTED or state == ESCAPED_QUOTED:
            if state == ESCAPED_QUOTED:
                return QUOTED
            return ESCAPED_QUOTED if char == self.escape else QUOTE if char == self.quote else QUOTED
        if newline:
            return START
        if char == self.delimiter:
            return FIELD
        if state == QUOTE:
            return QUOTED if char == self.quote else TEXT
        if char == self.escape:
            return ESCAPED
        return QUOTED if char == self.quote and state != TEXT else TEXT

    def states(self, text: str, state: int = START) -> Iterator[int]:
        """Yield the state before each character and behind the last one."""
        yield state
        for char in text:
            state = self.step(state, char)
            yield state

    def rows(self, text: str) -> list[tuple[int, str, int]]:
        """Return where each row starts, its text, and where the next one starts; comments among them."""
        rows, begin, at = [], 0, 0
        states = list(self.states(text))
        while at < len(text):
            if text[at] in "\r\n" and states[at + 1] == START:
                behind = at + (2 if text[at : at + 2] == "\r\n" else 1)
                rows.append((begin, text[begin:at], behind))
                begin = at = behind
            else:
                at += 1
        return [*rows, (begin, text[begin:], len(text))] if begin < len(text) else rows

    def records(self, text: str) -> list[tuple[int, str]]:
        """Return the offset and text of each row that is no comment."""
        return [
            (start, row) for start, row, _ in self.rows(text) if self.comment is None or not row.startswith(self.comment)
        ]

    def parse(self, text: str) -> list[list[str]]:
        """Return what Python's `csv` reads."""
        rows = csv.reader(
            io.StringIO(text, newline=""),
            delimiter=self.delimiter,
            quotechar=self.quote,
            escapechar=self.escape,
            quoting=csv.QUOTE_NONE if self.quote is None else csv.QUOTE_MINIMAL,
        )
        return list(rows)

    def texts(self, pieces: int = 12) -> st.SearchStrategy[str]:
        """Return texts made mostly of what means something to csv."""
        marks = [mark for mark in (self.delimiter, self.quote, self.quote, self.escape, self.comment) if mark]
        common = ["a", "b", "\n", "\r", "\r\n", '"', '""', "'", "\\", "#", ",", ';"', '\n"', "\n#"]
        return st.lists(st.sampled_from(marks * 3 + common), max_size=pieces).map("".join)


DIALECTS = [
    Dialect(),
    Dialect(delimiter=";", quote="'"),
    Dialect(delimiter="\t"),
    Dialect(delimiter="\x01"),
    Dialect(quote=None),
    Dialect(escape="\\"),
    Dialect(comment="#"),
    Dialect(escape="\\", comment="#"),
    Dialect(escape="\\", quote=None),
    Dialect(comment="#", quote=None),
    Dialect(escape="\\", comment="#", quote=None),
]
PLAIN = DIALECTS[:5]
every_dialect = pytest.mark.parametrize("dialect", [pytest.param(d, id=d.id) for d in DIALECTS])


def read(dialect: Dialect, text: str, start: int, end: int, state: int, chunk: int) -> list[tuple[int, str]]:
    """Return the records of one block."""
    file = io.BytesIO(text.encode("latin-1"))
    records = read_records(file, start, end, dialect.fmt, entry_state=state, chunk_bytes=chunk)
    return [(offset, record.decode("latin-1")) for offset, record in records]


def scan(dialect: Dialect, text: str, start: int, end: int) -> StateMap:
    """Return the state map of a range."""
    return scan_block(io.BytesIO(text.encode("latin-1")), start, end, dialect.fmt)


@every_dialect
@settings(max_examples=200)
@given(data=st.data())
def test_the_oracle_is_python_csv(dialect: Dialect, data: st.DataObject) -> None:
    """The automaton's rows, each parsed alone, are the rows that Python reads from the whole text."""
    text = data.draw(dialect.texts(20))
    if dialect.comment is None:
        parsed = [(dialect.parse(row) or [[]])[0] for _, row in dialect.records(text)]

        assert parsed == dialect.parse(text)
    else:
        parts = [text[start:behind] for start, row, behind in dialect.rows(text) if not row.startswith(dialect.comment)]
        parsed = [(dialect.parse(row) or [[]])[0] for _, row in dialect.records(text)]

        assert parsed == [row for part in parts for row in dialect.parse(part)]


@every_dialect
@settings(max_examples=150)
@given(data=st.data(), chunk=st.integers(1, 30))
def test_rows_are_framed_as_by_the_automaton(dialect: Dialect, data: st.DataObject, chunk: int) -> None:
    """Whole and in every two blocks, with any buffer, the records and offsets are the oracle's."""
    text = data.draw(dialect.texts())
    expected = dialect.records(text)

    assert read(dialect, text, 0, len(text), 0, chunk) == expected
    for split in range(1, len(text)):
        state = scan(dialect, text, 0, split)(0)
        parts = read(dialect, text, 0, split, 0, chunk), read(dialect, text, split, len(text), state, chunk)

        assert parts[0] + parts[1] == expected, split
