"""The elements of a JSON array that fills a file, or JSON values one after another; pretty-printed or not.

The state at an offset is `2 * depth + mode`: the depth of brackets relative to the data, and whether the offset lies
in a string. Brackets count alike whatever their kind, so a mismatch is left to whoever decodes the element.

Between elements stands what is at depth 0 outside strings. An array's elements lie between its commas there, without
the white space around them: of `[1,,2]` the second has no bytes, at the place of the second comma. A value of the
other layout begins at a visible byte there that follows white space, or a bracket that closed to depth 0.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow.compute as pc

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import JsonArray
from airflow_provider_blockread.records.decode import BadRecord, Decoded, Decoder, RawDecoder
from airflow_provider_blockread.records.format import Offsets, Walk
from airflow_provider_blockread.records.json_decode import JsonDecoder
from airflow_provider_blockread.records.json_text import (
    BACKSLASH,
    COMMA,
    WHITE,
    Bytes,
    Lexer,
    closings,
    first_visible,
    last_visible,
    next_visible,
    openings,
    run_before,
    white_starts,
)
from airflow_provider_blockread.records.lines import with_last
from airflow_provider_blockread.records.source import ByteSource
from airflow_provider_blockread.records.statemap import StateMap
from airflow_provider_blockread.records.text import TextFormat
from airflow_provider_blockread.records.walking import Chunk

_WINDOW = 2**20  # looked at in one go, so that the passes over it stay in the processor's cache
_MODES = 2
_NONE = np.empty(0, np.int64)
_VALUES = "or read values one after another with layout='values'"


@dataclass(frozen=True, slots=True)
class _Borders:
    """Where elements end in a piece of text, where to look for the next ones, and the end of the array, or -1."""

    ends: Offsets
    behind: Offsets
    closed: int

    def moved(self, by: int) -> _Borders:
        """Return the same borders, counted from `by` bytes earlier."""
        return _Borders(self.ends + by, self.behind + by, self.closed + by if self.closed >= 0 else -1)


class JsonArrayFormat(TextFormat):
    """The elements of a JSON array, or JSON values one after another.

    The file's first visible byte decides where the layout is `"auto"`. A file whose array is not closed, or with
    anything but white space behind it, is refused as a whole.
    """

    name = "json_array"
    needs_scan = True
    unfinished = f"close the array with `]` at the end of the file, {_VALUES}"

    def __init__(self, option: JsonArray) -> None:
        """Take the option as the DAG author wrote it."""
        self.layout = option.layout
        self.array = option.layout != "values"
        self.file = "the file"
        self._schema = option.schema

    def with_head(self, source: ByteSource, start: int) -> Self:
        """Return the format for a file whose text begins at `start`, with its layout known.

        Raises:
            RecordError: when the layout is an array and the file holds something else.
        """
        begin = first_visible(source, start)
        first = source.read(begin, begin + 1)
        bound = copy.copy(self)
        bound.file = source.name
        bound.array = self.layout == "array" or (self.layout == "auto" and first == b"[")
        bound.start = _first_element(source, begin, first) if bound.array and first else begin
        return bound

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the map of the range: whether it flips strings, and its depth outside and inside of them."""
        lexer = Lexer(escaped=_escaped(source, start))
        every = outside = 0
        for low in range(start, end, _WINDOW):
            data = np.frombuffer(source.read(low, min(low + _WINDOW, end)), np.uint8)
            visible, opened, closed = lexer.outside(data), openings(data), closings(data)
            every += int(np.count_nonzero(opened)) - int(np.count_nonzero(closed))
            outside += int(np.count_nonzero(opened & visible)) - int(np.count_nonzero(closed & visible))
        return StateMap((1, 0) if lexer.inside else (0, 1), (outside, every - outside))

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first start of an element at or after `offset`, where `state` is known."""
        depth, mode = divmod(state, _MODES)
        if self.array and depth < 0:
            return source.size
        if state == 0 and self._is_between(source, offset):
            return first_visible(source, offset)
        lexer = Lexer(depth, bool(mode), escaped=_escaped(source, offset))
        for position, window in source.windows(offset):
            borders = self._borders(lexer, np.frombuffer(window, np.uint8))
            if len(borders.behind):
                return first_visible(source, position + int(borders.behind[0]))
            if borders.closed >= 0:
                break
        return source.size

    def _is_between(self, source: ByteSource, offset: int) -> bool:
        """Tell whether an offset at depth 0 outside strings has an element's border before it, or white space."""
        if self.array:
            comma = offset - run_before(source, offset, WHITE)
            return source.read(comma - 1, comma) == b","
        return source.read(offset - 1, offset) in {b"}", b"]", b" ", b"\t", b"\n", b"\r"}

    def walk(self, buffer: bytes, *, final: bool) -> Walk:
        """Return the elements of a buffer that begins with one; each is complete where the next one's start is seen.

        Raises:
            RecordError: when anything but white space follows the array.
        """
        data = np.frombuffer(buffer, np.uint8)
        lexer, pieces, low = Lexer(), [_Borders(_NONE, _NONE, -1)], 0
        while low < len(data) and pieces[-1].closed < 0:
            pieces.append(self._borders(lexer, data[low : low + _WINDOW]).moved(low))
            low += _WINDOW
        ends, behind = (np.concatenate(parts) for parts in ([p.ends for p in pieces], [p.behind for p in pieces]))
        if self.array:
            return self._elements(data, _Borders(ends, behind, pieces[-1].closed), final=final)
        return _values(data, ends, final=final)

    def _borders(self, lexer: Lexer, data: Bytes) -> _Borders:
        """Return the borders of the next piece of text, which `lexer` steps over."""
        opened, closed = openings(data), closings(data)
        between = data == COMMA if self.array else white_starts(data)
        marks = np.flatnonzero((opened | closed | between) & lexer.outside(data))
        closed = closed[marks]
        depths = lexer.depth + np.cumsum(opened[marks].view(np.int8) - closed.view(np.int8), dtype=np.int64)
        lexer.depth = int(depths[-1]) if len(depths) else lexer.depth
        top = depths == 0
        if not self.array:
            top &= closed | between[marks]
            ends = marks[top] + closed[top]
            return _Borders(ends, ends, -1)
        below = np.flatnonzero(depths < 0)
        last = int(marks[below[0]]) if len(below) else -1
        commas = marks[top & between[marks]]
        commas = commas if last < 0 else commas[commas < last]
        return _Borders(commas, commas + 1, last)

    def _elements(self, data: Bytes, found: _Borders, *, final: bool) -> Walk:
        nexts = next_visible(data, found.behind)
        ends, nexts = found.ends[nexts < len(data)], nexts[nexts < len(data)]
        if found.closed >= 0:
            if next_visible(data, np.array([found.closed + 1]))[0] < len(data):
                raise _followed(self.file)
            if final:
                ends, nexts = np.append(ends, found.closed), np.append(nexts, len(data))
        return Walk(last_visible(data, ends, np.append(0, nexts)[:-1]), nexts)

    def decoder(self) -> Decoder:
        """Return a decoder to the schema's columns, or to text where there is no schema."""
        return self._decoder

    @cached_property
    def _decoder(self) -> Decoder:
        """The decoder that this format and those bound to files share."""
        return ElementDecoder() if self._schema is None else JsonDecoder(self._schema, commas=True)


class ElementDecoder:
    """The text of each element in one column `value`; an element that is not there is bad."""

    def __init__(self) -> None:
        self._texts = RawDecoder("utf-8")
        self.schema = self._texts.schema

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the texts; a record that is not UTF-8, or is empty, is bad."""
        decoded = self._texts.decode(chunk)
        absent = np.flatnonzero(chunk.begins == chunk.ends)
        if not len(absent):
            return decoded
        bad = (*decoded.bad, *(BadRecord(index=i, reason="no element between two commas") for i in absent.tolist()))
        batch = decoded.batch.filter(pc.not_equal(decoded.batch["value"], ""))
        return Decoded(batch=batch, bad=tuple(sorted(bad, key=lambda record: record.index)))


def _first_element(source: ByteSource, begin: int, first: bytes) -> int:
    """Return where the first element of the array that begins at `begin` starts; the file's size where it has none."""
    if first != b"[":
        msg = f"{source.name} does not begin with `[` but with {first!r}: name its format, {_VALUES}"
        raise RecordError(msg)
    element = first_visible(source, begin + 1)
    if element == source.size:
        msg = f"{source.name} ends behind the `[` at byte {begin * source.unit_bytes}: {JsonArrayFormat.unfinished}"
        raise RecordError(msg)
    if source.read(element, element + 1) != b"]":
        return element
    if first_visible(source, element + 1) < source.size:
        raise _followed(source.name)
    return source.size


def _followed(file: str) -> RecordError:
    return RecordError(f"{file}: text follows the `]` that closes the array; take it out, {_VALUES}")


def _values(data: Bytes, ends: Offsets, *, final: bool) -> Walk:
    """Return the values of a buffer that end at `ends`; an end may be told twice."""
    nexts = next_visible(data, ends)
    first = np.append(True, nexts[1:] != nexts[:-1])[: len(nexts)]
    ends, nexts = ends[first], nexts[first]
    if final:
        return Walk(*with_last(ends, nexts, len(data), final=True))
    return Walk(ends[nexts < len(data)], nexts[nexts < len(data)])


def _escaped(source: ByteSource, offset: int) -> bool:
    """Tell whether the byte at `offset` is escaped by an odd run of backslashes before it."""
    return run_before(source, offset, bytes([BACKSLASH])) % 2 == 1
