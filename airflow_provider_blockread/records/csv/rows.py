"""Which newlines end a CSV row: by counting quotes where that suffices, otherwise by the automaton."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.records.csv.modes import (
    COMMENT,
    ESCAPED,
    ESCAPED_QUOTED,
    FIELD,
    QUOTE,
    QUOTED,
    START,
    TEXT,
    Automaton,
    SpecialBytes,
)
from airflow_provider_blockread.records.csv.runs import QuoteRuns
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.model import Offsets
from airflow_provider_blockread.records.statemap import StateMap
from airflow_provider_blockread.records.text.pieces import after_run

_LF, _CR = b"\n\r"
_WINDOW_BYTES = 2**20


class MarkedRows:
    """Rows with escapes or comments; the states are the automaton's modes, 0 at a row's start."""

    def __init__(self, marks: SpecialBytes) -> None:
        self._marks = marks
        self._automaton = Automaton(marks)
        self._pairs = QuotePairs(marks, self._automaton)
        self._no_pairs = {self._automaton.number(mode) for mode in (ESCAPED, ESCAPED_QUOTED, COMMENT)}

    def enter(self, source: ByteSource, offset: int, state: int) -> tuple[int, int]:
        """Return the offset and the state."""
        del source
        return offset, state

    def newlines(self, buffer: bytes, mode: int) -> tuple[Offsets, int]:
        """Return the bytes LF and CR of `buffer` that end rows, and the mode after the buffer."""
        found = None if self._is_marked(buffer, mode) else self._pairs.newlines(buffer, mode)
        return found or self._automaton.newlines(buffer, mode)

    def _is_marked(self, buffer: bytes, mode: int) -> bool:
        """Return whether an escape or a comment may affect `buffer`."""
        escape, comment = self._marks.escape, self._marks.comment
        if mode in self._no_pairs or (escape is not None and escape in buffer):
            return True
        if comment is None or comment not in buffer:
            return False
        return (mode == 0 and buffer.startswith(comment)) or b"\n" + comment in buffer or b"\r" + comment in buffer

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the state map of `[start, end)`."""
        effect = StateMap.identity(self._automaton.modes)
        for low in range(start, end, _WINDOW_BYTES):
            effect = effect.then(self._automaton.effect(source.read(low, min(low + _WINDOW_BYTES, end))))
        return effect


class QuotedRows:
    """Rows framed by quotes alone, or by every newline where `quote` is None.

    States: 0 outside and 1 inside quotes; at an offset within a run of quotes, the state after the run. Modes are
    finer.
    """

    def __init__(self, marks: SpecialBytes) -> None:
        """Take the marks; comments have no effect on newlines here."""
        marks = SpecialBytes(delimiter=marks.delimiter, quote=marks.quote, escape=None, comment=None)
        self._quote = marks.quote
        self._automaton = Automaton(marks)
        self._pairs = QuotePairs(marks, self._automaton)
        self._runs = QuoteRuns(marks)

    def enter(self, source: ByteSource, offset: int, state: int) -> tuple[int, int]:
        """Return where a search for rows begins, for the state at a raw offset, and the mode there.

        `offset` is after the data offset. Where it splits a run of quotes, the search begins after the run.
        """
        inside, text = self._automaton.number(QUOTED), self._automaton.number(TEXT)
        before = source.read(offset - 1, offset + 1)[:1]
        if before != self._quote:
            return offset, inside if state else 0 if self._runs.opens(before[0]) else text
        return after_run(source, offset, self._quote), inside if state else text

    def newlines(self, buffer: bytes, mode: int) -> tuple[Offsets, int]:
        """Return the bytes LF and CR of `buffer` that end rows, and the mode after the buffer."""
        return self._pairs.newlines(buffer, mode) or self._automaton.newlines(buffer, mode)

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the state map of `[start, end)`."""
        return StateMap.identity(2) if self._quote is None else self._runs.scan(source, start, end)


class QuotePairs:
    """Row ends by counting quotes where each opening quote starts a field, without escapes and comments."""

    def __init__(self, marks: SpecialBytes, automaton: Automaton) -> None:
        self._quote = marks.quote
        self._mark = -1 if marks.quote is None else ord(marks.quote)
        self._inside = automaton.number(QUOTED)
        self._fresh = {automaton.number(mode) for mode in (START, FIELD, QUOTE)}
        self._modes = np.full(256, automaton.number(TEXT))  # outside quotes, after each byte
        self._modes[ord(marks.delimiter)] = automaton.number(FIELD)
        self._modes[[_LF, _CR]] = automaton.number(START)
        if marks.quote is not None:
            self._modes[self._mark] = automaton.number(QUOTE)
        # Bytes that may precede an opening quote or the second of a pair.
        self._openers = np.isin(self._modes, list(self._fresh))

    def newlines(self, buffer: bytes, mode: int) -> tuple[Offsets, int] | None:
        """Return the bytes LF and CR of `buffer` that end rows, and the mode after it; None where a quote is text."""
        data = np.frombuffer(buffer, np.uint8)
        found = data == _LF
        if b"\r" in buffer:
            found |= data == _CR
        behind = int(self._modes[data[-1]]) if len(data) else mode
        inside = int(mode == self._inside)
        if self._quote is None or self._quote not in buffer:
            marks = np.flatnonzero(found)
            return (marks[:0], mode) if inside else (marks, behind)
        found |= data == self._mark
        places = np.flatnonzero(found)
        are_quotes = data.take(places) == self._mark
        quotes = places[are_quotes]
        if not self._all_open_fields(data, quotes[inside::2], fresh=mode in self._fresh):
            return None
        within = np.cumsum(are_quotes.view(np.uint8), dtype=np.uint8) & 1 != inside  # a sum that wraps keeps its parity
        return places[~(within | are_quotes)], self._inside if (len(quotes) + inside) & 1 else behind

    def _all_open_fields(self, data: npt.NDArray[np.uint8], openers: Offsets, *, fresh: bool) -> bool:
        if len(openers) and openers[0] == 0:
            return fresh and bool(self._openers.take(data.take(openers[1:] - 1)).all())
        return bool(self._openers.take(data.take(openers - 1)).all())
