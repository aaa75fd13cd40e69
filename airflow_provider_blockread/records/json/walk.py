"""Where the elements of JSON text end, for an array or a sequence of values, a piece of text at a time.

Only bytes at depth 0 outside strings separate elements. An array's elements are between its commas there, without
the white space around them: in `[1,,2]` the second is empty, at the second comma. A value of a sequence begins at a
visible byte at depth 0 after white space or after the end of a string or bracket, and where a string or bracket opens:
`1"a"[]2` has four, without white space between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records.json.text import (
    BRACKET,
    COMMA,
    WHITE,
    Bytes,
    Lexer,
    closings,
    last_visible,
    next_visible,
    openings,
    white_starts,
)
from airflow_provider_blockread.records.model import Offsets, Walk
from airflow_provider_blockread.records.text.pieces import with_last

#: What to do with a file that is not an array.
VALUES_ADVICE = (
    "set layout='values' if the file holds values one after another, or exclude the file with"
    " `blockread windows exclude`"
)

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Borders:
    """Where elements end in a piece of text, where to search for the next ones, and the end of the array or -1."""

    ends: Offsets
    behind: Offsets
    closed: int


def borders(lexer: Lexer, data: Bytes, *, array: bool) -> Borders:
    """Return the borders in the next piece of text, and advance `lexer` past it.

    In a sequence of values, a border may be found twice, and there is one before each bracket and string.
    """
    opened, closed = openings(data), closings(data)
    between = data == COMMA if array else white_starts(data)
    depth, inside = lexer.depth, lexer.inside
    outside = lexer.outside(data)
    marks = np.flatnonzero((opened | closed | between) & outside)
    opened, closed = opened[marks], closed[marks]
    depths = depth + np.cumsum(opened.view(np.int8) - closed.view(np.int8), dtype=np.int64)
    lexer.depth = int(depths[-1]) if len(depths) else depth
    if not array:
        top = depths == opened
        ends = marks[top] + closed[top]
        if depth < 0 or (depth == 0 and (inside or _is_bare(data, 0))) or _is_bare(data, ends):
            strings = np.flatnonzero(np.diff(outside, prepend=not inside))  # where they begin and end
            strings = strings[np.append(depth, depths)[np.searchsorted(marks, strings)] == 0]
            ends = np.sort(np.concatenate([ends, strings + outside[strings]]))
        return Borders(ends, ends, -1)
    top = depths == 0
    below = np.flatnonzero(depths < 0)
    last = int(marks[below[0]]) if len(below) else -1
    commas = marks[top & between[marks]]
    commas = commas if last < 0 else commas[commas < last]
    return Borders(commas, commas + 1, last)


def _is_bare(data: Bytes, places: Offsets | int) -> bool:
    """Return whether the first visible byte at or after any of the places is not a bracket."""
    nexts = next_visible(data, np.atleast_1d(places))
    return not openings(data[nexts[nexts < len(data)]]).all()


class ValueFinder:
    """Finds the values of a sequence; each is complete once the next one's start is found."""

    def __init__(self) -> None:
        self._lexer = Lexer()
        self._ended = _NONE  # where a value ended before the piece, if one did
        self._before = 0  # where a value has begun already: at the start of the first piece

    def __call__(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        """Return the values that are complete."""
        data = np.frombuffer(piece, np.uint8)
        found = borders(self._lexer, data, array=False)
        ends = np.concatenate([self._ended, found.ends])
        nexts = next_visible(data, np.maximum(ends, 0))
        first = np.diff(nexts, prepend=self._before) != 0  # an end may be found twice
        self._before = -1
        ends, nexts = ends[first], nexts[first]
        if final:
            return Walk(*with_last(ends, nexts, len(data), final=True)), len(data)
        complete = nexts < len(data)
        self._ended = ends[~complete] - len(data)
        return Walk(ends[complete], nexts[complete]), len(data)


class ElementFinder:
    """Finds the elements of an array; each is complete once the next one's start, or the file's end, is found.

    A bracket closes the array, and only white space may follow it.
    """

    def __init__(self) -> None:
        self._lexer = Lexer()
        self._closed = False  # whether the array ended before the piece
        self._ended = _NONE  # where an element ended before the piece, if one did
        self._visible = 0  # the end of the last visible byte before the piece

    def __call__(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        """Return the elements that are complete.

        Raises:
            RecordError: when a brace closes the array, or anything but white space follows it.
        """
        data = np.frombuffer(piece, np.uint8)
        found = Borders(_NONE, _NONE, -1) if self._closed else borders(self._lexer, data, array=True)
        awaited = 0 if self._closed else len(self._ended)
        nexts = next_visible(data, np.concatenate([np.zeros(awaited, np.int64), found.behind]))
        ends = np.concatenate([self._ended, self._trimmed(data, found, nexts)])
        self._closed |= found.closed >= 0
        if found.closed >= 0 and piece[found.closed] != BRACKET:
            msg = f"correct the `}}` to `]`, {VALUES_ADVICE}"
            raise RecordError(msg)
        if self._closed:
            if next_visible(data, np.array([found.closed + 1]))[0] < len(data):
                msg = f"remove what follows the array, {VALUES_ADVICE}"
                raise RecordError(msg)
            nexts = np.append(nexts, len(data))
        complete = nexts < len(data)
        complete |= final and self._closed
        self._ended = ends[~complete] - len(data)
        if not len(nexts):
            self._visible = (len(piece.rstrip(WHITE)) or self._visible) - len(piece)
        return Walk(ends[complete], nexts[complete]), len(data)

    def _trimmed(self, data: Bytes, found: Borders, nexts: Offsets) -> Offsets:
        """Return where the elements that end in the piece end, without the white space after them."""
        ends = found.ends if found.closed < 0 else np.append(found.ends, found.closed)
        begun = len(self._ended)  # then the first of them begins in this piece
        ends = last_visible(data, ends, np.append(0, nexts)[begun : begun + len(ends)])
        if not begun and len(ends) and ends[0] == 0:
            ends[0] = self._visible
        return ends
