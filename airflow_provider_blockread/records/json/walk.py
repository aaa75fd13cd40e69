"""Where the elements of JSON text end: of an array, or of values one after another; a piece of text at a time.

Between elements stands what is at depth 0 outside strings. An array's elements lie between its commas there, without
the white space around them: of `[1,,2]` the second has no bytes, at the place of the second comma. A value of the
other layout begins at a visible byte there that follows white space, or a string or bracket that closed there, and
where a string or bracket opens: of `1"a"[]2` there are four, though no white space parts them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.records.json.text import (
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
from airflow_provider_blockread.records.text.lines import with_last

#: What to do with a file that is no array.
VALUES_ADVICE = (
    "set layout='values' if the file holds values one after another, or exclude the file with"
    " `blockread windows exclude`"
)

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Borders:
    """Where elements end in a piece of text, where to look for the next ones, and the end of the array, or -1."""

    ends: Offsets
    behind: Offsets
    closed: int


def borders(lexer: Lexer, data: Bytes, *, array: bool) -> Borders:
    """Return the borders of the next piece of text, which `lexer` steps over.

    Between values one after another a border may be found twice, and one stands before each bracket or string.
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
    """Tell whether anything but a bracket is the first visible byte at or behind any of the places."""
    nexts = next_visible(data, np.atleast_1d(places))
    return not openings(data[nexts[nexts < len(data)]]).all()


class ValueLook:
    """Finds values one after another; each is complete where the next one's start is seen."""

    def __init__(self) -> None:
        self._lexer = Lexer()
        self._ended = _NONE  # where a value ended before the piece, if one did
        self._before = 0  # a value begins there already: at the start of the first piece

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


class ElementLook:
    """Finds the elements of an array; each is complete where the next one's start, or the file's end, is seen.

    Nothing but white space may follow the array.
    """

    def __init__(self) -> None:
        self._lexer = Lexer()
        self._closed = False  # the array, before the piece
        self._ended = _NONE  # where an element ended before the piece, if one did
        self._visible = 0  # the end of what is visible before the piece

    def __call__(self, piece: bytes, *, final: bool) -> tuple[Walk, int]:
        """Return the elements that are complete.

        Raises:
            RecordError: when anything but white space follows the array.
        """
        data = np.frombuffer(piece, np.uint8)
        found = Borders(_NONE, _NONE, -1) if self._closed else borders(self._lexer, data, array=True)
        awaited = 0 if self._closed else len(self._ended)
        nexts = next_visible(data, np.concatenate([np.zeros(awaited, np.int64), found.behind]))
        ends = np.concatenate([self._ended, self._trimmed(data, found, nexts)])
        self._closed |= found.closed >= 0
        if self._closed:
            if next_visible(data, np.array([found.closed + 1]))[0] < len(data):
                msg = f"take out what follows the array, {VALUES_ADVICE}"
                raise RecordError(msg)
            nexts = np.append(nexts, len(data))
        complete = nexts < len(data)
        complete |= final and self._closed
        self._ended = ends[~complete] - len(data)
        if not len(nexts):
            self._visible = (len(piece.rstrip(WHITE)) or self._visible) - len(piece)
        return Walk(ends[complete], nexts[complete]), len(data)

    def _trimmed(self, data: Bytes, found: Borders, nexts: Offsets) -> Offsets:
        """Return where elements that the piece ends do so, without the white space behind them."""
        ends = found.ends if found.closed < 0 else np.append(found.ends, found.closed)
        begun = len(self._ended)  # then the first of them begins in this piece
        ends = last_visible(data, ends, np.append(0, nexts)[begun : begun + len(ends)])
        if not begun and len(ends) and ends[0] == 0:
            ends[0] = self._visible
        return ends
