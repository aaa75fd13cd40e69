"""The elements of a JSON array that fills a file, or of a sequence of JSON values; pretty-printed or not.

The state at an offset is `2 * depth + mode`: the depth of brackets relative to the data, and whether the offset is in
a string. All kinds of brackets count alike; the decoder of the element detects a mismatch.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow.compute as pc

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import JsonArray
from airflow_provider_blockread.records.decode import RawDecoder
from airflow_provider_blockread.records.io.source import ByteSource
from airflow_provider_blockread.records.json.rescue import json_decoder
from airflow_provider_blockread.records.json.text import BACKSLASH, BRACKET, WHITE, Lexer, closings, openings
from airflow_provider_blockread.records.json.walk import VALUES_ADVICE, ElementFinder, ValueFinder, borders
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoded, Decoder
from airflow_provider_blockread.records.statemap import StateMap
from airflow_provider_blockread.records.text.format import TextFormat
from airflow_provider_blockread.records.text.pieces import RecordFinder, after_run, run_before

_WINDOW = 2**20  # processed at once, so that the passes over it stay in the processor's cache
_MODES = 2


class JsonArrayFormat(TextFormat):
    """The elements of a JSON array, or of a sequence of JSON values.

    Where the layout is `"auto"`, the file's first visible byte determines it. A file whose array no `]` closes, or is
    followed by anything but white space, is refused as a whole.
    """

    name = "json_array"
    needs_scan = True
    unfinished = "close the array with `]` at the end of the file, or exclude the file with `blockread windows exclude`"

    def __init__(self, option: JsonArray) -> None:
        self.layout = option.layout
        self.array = option.layout != "values"
        self._option = option

    def with_head(self, source: ByteSource, start: int) -> Self:
        """Return the format for a file whose text begins at `start`, with the file's layout.

        Raises:
            RecordError: when the layout is an array and the file contains something else.
        """
        begin = after_run(source, start, WHITE)
        first = source.read(begin, begin + 1)
        bound = copy.copy(self)
        bound.unit_bytes = source.unit_bytes
        bound.array = self.layout == "array" or (self.layout == "auto" and first == b"[")
        bound.start = _first_element(source, begin, first) if bound.array and first else begin
        return bound

    def scan(self, source: ByteSource, start: int, end: int) -> StateMap:
        """Return the map of the range: whether it swaps inside and outside of strings, and its change of depth."""
        lexer = Lexer(escaped=_escaped(source, start))
        every = outside = 0
        for low in range(start, end, _WINDOW):
            data = np.frombuffer(source.read(low, min(low + _WINDOW, end)), np.uint8)
            visible, opened, closed = lexer.outside(data), openings(data), closings(data)
            every += int(np.count_nonzero(opened)) - int(np.count_nonzero(closed))
            outside += int(np.count_nonzero(opened & visible)) - int(np.count_nonzero(closed & visible))
        return StateMap((1, 0) if lexer.inside else (0, 1), (outside, every - outside))

    def cut(self, source: ByteSource, offset: int, state: int) -> int:
        """Return the first start of an element at or after `offset`."""
        depth, mode = divmod(state, _MODES)
        if self.array and depth < 0:
            return source.size
        if state == 0 and self._is_between(source, offset):
            return after_run(source, offset, WHITE)
        lexer = Lexer(depth, bool(mode), escaped=_escaped(source, offset))
        for position, window in source.windows(offset):
            found = borders(lexer, np.frombuffer(window, np.uint8), array=self.array)
            if len(found.behind):
                return after_run(source, position + int(found.behind[0]), WHITE)
            if found.closed >= 0:
                break
        return source.size

    def _is_between(self, source: ByteSource, offset: int) -> bool:
        """Return whether an offset at depth 0 outside strings follows the end of an element, or white space."""
        if self.array:
            comma = offset - run_before(source, offset, WHITE)
            return source.read(comma - 1, comma) == b","
        before = source.read(offset - 1, offset)
        return before in b"}] \t\n\r" or (before == b'"' and not _escaped(source, offset - 1))

    def finder(self) -> RecordFinder:
        """Return a finder of elements; each is complete once the next one's start is found."""
        return ElementFinder() if self.array else ValueFinder()

    def explain(self, buffer: bytes, offset: int) -> str:
        """Return where a brace closes the array or text follows it, or an empty string."""
        lexer = Lexer()
        for low in range(0, len(buffer) if self.array else 0, _WINDOW):
            closed = borders(lexer, np.frombuffer(buffer[low : low + _WINDOW], np.uint8), array=True).closed
            if closed >= 0 and buffer[low + closed] != BRACKET:
                return f" (the `}}` at byte {offset + (low + closed) * self.unit_bytes} closes the array)"
            if closed >= 0:
                behind = len(buffer) - len(buffer[low + closed + 1 :].lstrip(WHITE))
                place = offset + behind * self.unit_bytes
                return f" (text at byte {place} follows the `]` that closes the array)" * (behind < len(buffer))
        return ""

    def decoder(self) -> Decoder:
        """Return a decoder to the schema's columns, or to text where there is no schema."""
        return self._decoder

    @cached_property
    def _decoder(self) -> Decoder:
        """The decoder, shared with the formats bound to files."""
        return json_decoder(self._option, commas=True) or ElementDecoder()


class ElementDecoder:
    """Decodes the text of each element into one column `value`; a missing element is bad."""

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
        msg = f"{source.name} does not start with `[` but with {first!r}; set its own format, {VALUES_ADVICE}"
        raise RecordError(msg)
    element = after_run(source, begin + 1, WHITE)
    if element == source.size:
        msg = f"{source.name} ends after the `[` at byte {begin * source.unit_bytes}: {JsonArrayFormat.unfinished}"
        raise RecordError(msg)
    if source.read(element, element + 1) != b"]":
        return element
    behind = after_run(source, element + 1, WHITE)
    if behind < source.size:
        where = f"text at byte {behind * source.unit_bytes} follows the `]` that closes the array"
        msg = f"{source.name}: {where}; remove it, {VALUES_ADVICE}"
        raise RecordError(msg)
    return source.size


def _escaped(source: ByteSource, offset: int) -> bool:
    """Return whether the byte at `offset` is escaped by an odd run of backslashes before it."""
    return run_before(source, offset, bytes([BACKSLASH])) % 2 == 1
