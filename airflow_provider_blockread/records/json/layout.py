"""Layouts of flat JSON objects: the bytes around their values, which are the same in many records.

Programs write objects with the same names in the same order and the same white space, so most bytes of a record are
known in advance. A record has a layout where it consists of the layout's pieces with values between them, and all its
quotes, backslashes and control bytes are in the pieces. A value in quotes is then the text of a string; any other value
is not a string, but may be invalid.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.records.decode import ChunkOffsets
from airflow_provider_blockread.records.json.text import BACKSLASH, Bytes
from airflow_provider_blockread.records.model import Chunk, Mask, Offsets

Spans = tuple[ChunkOffsets, ChunkOffsets]  # where values begin and end

_WINDOW = 2**17  # processed at once; fits the processor's cache
_MARK = re.compile(rb'["\\\x00-\x1f]')
_SPACE = ord(" ")
_SWAP = ord(" ") ^ ord('"')  # turns a quote into a space, and keeps bytes below a space below it
_OPENED = re.compile(rb"[ \t\r\n]*\{")
_MEMBER = re.compile(
    rb'[ \t\r\n]*"([^"\\\x00-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*'
    rb'(?:"(?P<text>[^"\\\x00-\x1f]*)"|(?P<bare>[^"\\\x00-\x20,:{}\[\]]+))[ \t\r\n]*(?P<end>,|\}[ \t\r\n]*\Z)'
)


@dataclass(frozen=True)
class Layout:
    """The unique names of an object's values, and the bytes before, between and after the values."""

    names: tuple[str, ...]
    pieces: tuple[bytes, ...]

    def is_quoted(self, value: int) -> bool:
        """Return whether a value is in quotes."""
        return self.pieces[value].endswith(b'"')

    @cached_property
    def marks(self) -> tuple[int, ...]:
        """The number of quotes and control bytes of each piece."""
        return tuple(len(_MARK.findall(piece)) for piece in self.pieces)

    @cached_property
    def leads(self) -> tuple[int, ...]:
        """The number of bytes before the first quote or control byte of each piece between two values."""
        return tuple(len(_MARK.split(piece, 1)[0]) for piece in self.pieces[1:-1])


def layout_of(record: bytes) -> Layout | None:
    """Return the layout of a record, or None where it is not a flat object with a value, or has escapes."""
    opened = _OPENED.match(record)
    at, behind = opened.end() if opened else len(record), 0
    names, pieces = [], []
    while member := _MEMBER.match(record, at):
        begin, end = member.span("bare" if member["text"] is None else "text")
        names.append(member[1])
        pieces.append(record[behind:begin])
        at, behind = member.end(), end
        if member["end"] != b",":
            break
    else:
        return None
    try:
        texts = tuple(name.decode() for name in names)
    except UnicodeDecodeError:
        return None
    return Layout(texts, (*pieces, record[behind:])) if len(set(texts)) == len(texts) else None


class MarkedRecords:
    """The records of a chunk, and where their quotes, backslashes and control bytes are."""

    def __init__(self, chunk: Chunk) -> None:
        self._data = np.frombuffer(chunk.buffer, np.uint8, int(chunk.ends[-1]))
        self._begins, self._ends = chunk.begins.astype(np.int32), chunk.ends.astype(np.int32)
        escapes = b"\\" in chunk.buffer
        windows = range(0, len(self._data), _WINDOW)
        self._marks = np.concatenate([_marks(self._data, low, escapes=escapes) for low in windows])
        self._firsts = _numbers_before(self._marks, self._begins)
        self._counts = _numbers_before(self._marks, self._ends) - self._firsts

    def laid_out(self, layout: Layout, among: Offsets) -> tuple[Offsets, list[Spans]]:
        """Return which of the records `among` have the layout, and where their values are."""
        found = among[self._counts[among] == sum(layout.marks)]
        starts = self._starts(layout, found)
        fits = np.ones(len(found), np.bool_)
        spans = []
        for number, (start, end) in enumerate(pairwise(starts)):
            piece = layout.pieces[number]
            fits &= _stand_at(self._data, start, piece)
            begin = start + len(piece)
            fits &= begin <= end if layout.is_quoted(number) else begin < end
            spans.append((begin, end))
        fits &= _stand_at(self._data, starts[-1], layout.pieces[-1])
        if fits.all():
            return found, spans
        return found[fits], [(begin[fits], end[fits]) for begin, end in spans]

    def _starts(self, layout: Layout, found: Offsets) -> list[ChunkOffsets]:
        """Return where each piece must start: found by a mark, except for the first and the last piece."""
        mark, starts = self._firsts[found], [self._begins[found]]
        for before, lead in zip(layout.marks, layout.leads, strict=False):
            mark = mark + before
            starts.append(self._marks[mark] - lead)
        return [*starts, self._ends[found] - len(layout.pieces[-1])]


def _marks(data: Bytes, low: int, *, escapes: bool) -> ChunkOffsets:
    window = data[low : low + _WINDOW]
    marks: Mask = (window ^ _SWAP) <= _SPACE
    if escapes:
        marks |= window == BACKSLASH
    found = np.flatnonzero(marks).astype(np.int32)
    found += low
    return found


def _numbers_before(marks: ChunkOffsets, places: ChunkOffsets) -> ChunkOffsets:
    """Return the number of marks before each place; fast where all places are equally many marks apart."""
    first, last = (int(np.searchsorted(marks, place)) for place in places[[0, -1]])
    step, odd = divmod(last - first, max(len(places) - 1, 1))
    if step and not odd:
        numbers = np.arange(first, last + step, step, dtype=np.int32)
        inner, between = numbers[1:-1], places[1:-1]
        if np.all(marks[inner - 1] < between) and np.all(marks[inner] >= between):
            return numbers
    searched: ChunkOffsets = np.searchsorted(marks, places).astype(np.int32)
    return searched


def _stand_at(data: Bytes, starts: ChunkOffsets, piece: bytes) -> Mask:
    """Return at which places a piece occurs; places too close to the end of the data are moved back."""
    last = len(data) - len(piece)
    if last < 0:
        return np.zeros(len(starts), np.bool_)
    slices: npt.NDArray[np.bytes_] = np.ndarray((last + 1,), f"S{len(piece)}", data, strides=(1,))
    found = slices[np.clip(starts, 0, last)]
    if found.tobytes() == piece * len(starts):
        return np.ones(len(starts), np.bool_)
    equal: Mask = found == piece
    return equal
