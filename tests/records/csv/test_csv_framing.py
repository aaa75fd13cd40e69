"""Csv rows are those of Python's `csv`, at every split: compared with an automaton that reads byte by byte."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_provider_blockread.errors import LookBackError, RecordError
from airflow_provider_blockread.records import RecordFormat, StateMap, read_records, record_format, scan_block
from airflow_provider_blockread.records.csv import runs
from airflow_provider_blockread.records.csv.format import CsvFormat
from airflow_provider_blockread.records.csv.modes import Automaton, SpecialBytes
from airflow_provider_blockread.records.reading import open_source
from airflow_provider_blockread.records.walking import WalkLimits, first_start, walk_block
from tests.examples import examples

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
        return record_format("csv", **asdict(self))

    def step(self, state: int, char: str) -> int:
        """Return the state after one character; CR and LF each end a row."""
        if state in {ESCAPED, ESCAPED_QUOTED}:
            return TEXT if state == ESCAPED else QUOTED
        if state == QUOTED:
            return {self.escape: ESCAPED_QUOTED, self.quote: QUOTE}.get(char, QUOTED)
        if char in "\r\n":
            return START
        comment = state == COMMENT or (state == START and char == self.comment)
        return COMMENT if comment else self.step_in_row(state, char)

    def step_in_row(self, state: int, char: str) -> int:
        """Return the state after a character other than a newline, from outside quotes."""
        if char == self.delimiter:
            return FIELD
        if char == self.escape and state != QUOTE:
            return ESCAPED
        return QUOTED if char == self.quote and state != TEXT else TEXT

    def states(self, text: str, state: int = START) -> Iterator[int]:
        """Yield the state before each character and after the last one."""
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
        """Return the offset and text of each row that is not a comment."""
        return [
            (start, row)
            for start, row, _ in self.rows(text)
            if self.comment is None or not row.startswith(self.comment)
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
        """Return texts made mostly of csv's marks."""
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
@examples(80)
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
@examples(50)
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


@every_dialect
@examples(30)
@given(data=st.data())
def test_a_cut_is_the_first_row_start(dialect: Dialect, data: st.DataObject) -> None:
    """From every offset, the cut is the first row start at or after it, comments included."""
    text = data.draw(dialect.texts())
    starts = [start for start, _, _ in dialect.rows(text)]
    source, fmt = open_source(io.BytesIO(text.encode()), dialect.fmt)
    for offset in range(1, len(text)):
        state = scan(dialect, text, 0, offset)(0)

        assert first_start(source, fmt, offset, state) == min([s for s in starts if s >= offset], default=len(text))


@every_dialect
@examples(30)
@given(data=st.data(), splits=st.lists(st.integers(0, 40), max_size=4))
def test_maps_compose_at_any_splits(dialect: Dialect, data: st.DataObject, splits: list[int]) -> None:
    """The map of a text is the composition of those of its parts, for every state."""
    text = data.draw(dialect.texts(20))
    borders = sorted({0, len(text), *(min(s, len(text)) for s in splits)})
    whole = scan(dialect, text, 0, len(text))
    composed = StateMap.identity(len(whole.targets))
    for start, end in pairwise(borders):
        composed = composed.then(scan(dialect, text, start, end))

    assert composed == whole


@pytest.mark.parametrize("dialect", [pytest.param(d, id=d.id) for d in DIALECTS if d.escape or d.comment])
@examples(50)
@given(data=st.data())
def test_the_automaton_does_what_its_table_says(dialect: Dialect, data: st.DataObject) -> None:
    """From every mode, a text has the same effect as byte by byte, and the same newlines end rows."""
    text = data.draw(dialect.texts(30))
    special = {name: getattr(dialect, name) for name in ("delimiter", "quote", "escape", "comment")}
    automaton = Automaton(SpecialBytes(**{name: char and char.encode() for name, char in special.items()}))
    effect = automaton.effect(text.encode())
    for mode in range(8):
        if (number := automaton.number(mode)) < 0:
            continue
        states = list(dialect.states(text, mode))
        ends = [at for at, char in enumerate(text) if char in "\r\n" and states[at + 1] == START]
        found, behind = automaton.newlines(text.encode(), number)

        assert (found.tolist(), behind) == (ends, automaton.number(states[-1]))
        assert effect(number) == behind


LONG = [
    ('"', "odd run"),
    ('""', "even run"),
    ("\n", "newlines"),
    ("\r\n", "CRLF"),
    (",", "delimiters"),
    ('"",', "empty fields"),
    ('"\n', "quotes before newlines"),
    ('a"', "stray quotes"),
    ("\\", "escapes"),
    ("#\n", "comments"),
]


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [Dialect(), Dialect(escape="\\", comment="#")], ids=["quotes", "all marks"])
@pytest.mark.parametrize("piece", [pytest.param(piece, id=name) for piece, name in LONG])
def test_long_runs_are_read_exactly(dialect: Dialect, piece: str) -> None:
    """Runs longer than any window give the oracle's records, whole and in two blocks, with states by scans."""
    text = "x,y\n" + piece * (2**18 // len(piece) + 9) + ',"z\n",\n1'
    expected = dialect.records(text)

    assert read(dialect, text, 0, len(text), 0, 2**20) == expected
    for split in (3, 2**16 + 1, 2**18 + 5, len(text) - 2):
        state = scan(dialect, text, 0, split)(0)
        begin, rest = read(dialect, text, 0, split, 0, 2**20), read(dialect, text, split, len(text), state, 2**20)
        assert begin + rest == expected, split


def test_a_run_of_quotes_beyond_the_look_back_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a run that begins in a block continues for too long, the error says to read the file as one block."""
    monkeypatch.setattr(runs, "MAX_LOOK_BACK", 2**17)
    text = "a," + '"' * 2**20
    with pytest.raises(LookBackError, match="read this file as one block"):
        scan(Dialect(), text, 0, 10)

    assert scan(Dialect(), text, 2**10, 2**19) == StateMap.identity(2)


@pytest.mark.parametrize(
    ("text", "options", "header", "first"),
    [
        ("a,b\n1,2\n", {}, ("a", "b"), 4),
        ("\ufeffa,b\r\n1,2\n", {}, ("a", "b"), 8),
        ('\r\n"a\n""x""",b\n1,2\n', {}, ('a\n"x"', "b"), 14),
        ("# made by hand\n\na;b\n1;2\n", {"comment": "#", "delimiter": ";"}, ("a", "b"), 20),
        ("a\\,b,c\n1,2\n", {"escape": "\\"}, ("a,b", "c"), 7),
        ("a,b", {}, ("a", "b"), 3),
        ("", {}, None, 0),
        ("\n\n", {}, None, 2),
    ],
)
def test_a_header_is_the_first_row(
    text: str, options: dict[str, str], header: tuple[str, ...] | None, first: int
) -> None:
    """The first row that is neither a comment nor blank names the columns; data begin after it."""
    source, fmt = open_source(io.BytesIO(text.encode()), record_format("csv", header=True, **options))

    assert isinstance(fmt, CsvFormat)
    assert (fmt.header, source.data_offset) == (header, first)


def test_a_header_that_is_no_text_is_refused() -> None:
    """The error names the offset in the file and the option to set."""
    with pytest.raises(RecordError, match="header at byte 0 is not UTF-8; set encoding to that of the file"):
        open_source(io.BytesIO(b"a\xff,b\n"), record_format("csv", header=True))


@pytest.mark.parametrize(
    ("row", "opened"),
    [('a,"b', 4), ('"a""b","x', 9), ('"a"b,"c,d', 7), ('a"b,"c', 6), ('"a\\"b","c', 9), ('"a"\\,"c', 7)],
)
def test_an_endless_field_is_named_by_where_its_quote_opened(row: str, opened: int) -> None:
    """The error for a row beyond the limit inside quotes says where they opened."""
    fmt = record_format("csv", escape="\\" if "\\" in row else None)
    source, fmt = open_source(io.BytesIO(f"1\n{row}".encode() + b"x,\n" * 100_000), fmt)
    message = f"starts at byte 2 .the quote that opened at byte {opened} is not closed. is"
    with pytest.raises(RecordError, match=message):
        list(walk_block(source, fmt, 0, source.size, WalkLimits(chunk_bytes=100, max_record_bytes=1000)))
