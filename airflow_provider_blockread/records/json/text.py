"""JSON text as whole arrays: which bytes are outside strings, and where white space begins and ends.

A quote begins or ends a string unless an odd run of backslashes precedes it. So the parity of the number of quotes
before a byte determines whether it is in a string; it is computed for 64 bytes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.records.model import Mask, Offsets

Bytes = npt.NDArray[np.uint8]

WHITE = b" \t\n\r"
QUOTE, BACKSLASH, COMMA, BRACKET = b'"\\,]'

_IS_WHITE = np.zeros(256, np.bool_)
_IS_WHITE[list(WHITE)] = True
_CASE = 0x20  # `{` and `[` differ in this bit alone, `}` and `]` too
_OPEN, _CLOSE = b"{}"
_STEPS = 16  # most runs of white space between two values are shorter


@dataclass(slots=True)
class Lexer:
    """The state at the start of the next piece of JSON text."""

    depth: int = 0  # of brackets
    inside: bool = False  # in a string
    escaped: bool = False  # the next byte is escaped by the backslashes before it

    def outside(self, data: Bytes) -> Mask:
        """Return which bytes are outside strings, closing quotes included, and advance past the piece."""
        quotes = data == QUOTE
        self._escape(data, quotes)
        inside = _odd_so_far(quotes, flip=self.inside)
        self.inside = bool(inside[-1])
        return ~inside

    def _escape(self, data: Bytes, quotes: Mask) -> None:
        """Remove escaped quotes from `quotes`."""
        slashes = np.flatnonzero(data == BACKSLASH)
        carried, self.escaped = self.escaped, False
        if carried:
            quotes[0] = False
        if not len(slashes):
            return
        first = np.empty(len(slashes), np.bool_)
        first[0], first[1:] = True, slashes[1:] != slashes[:-1] + 1
        starts = np.maximum.accumulate(np.where(first, slashes, 0))
        if carried:
            starts[starts == 0] = -1  # the run at the start continues from a backslash before it
        escaped = slashes[(slashes - starts) % 2 == 0] + 1
        if len(escaped) and escaped[-1] == len(data):
            escaped, self.escaped = escaped[:-1], True
        quotes[escaped] = False


def _odd_so_far(marks: Mask, *, flip: bool) -> Mask:
    """Return for each place whether the number of marks up to and including it is odd; `flip` negates all."""
    words = np.zeros(-(-len(marks) // 64), "<u8")
    bits = np.packbits(marks, bitorder="little")
    words.view(np.uint8)[: len(bits)] = bits
    for shift in (1, 2, 4, 8, 16, 32):  # each bit becomes the parity of the bits up to it in its word
        words ^= words << np.uint64(shift)
    before = np.bitwise_xor.accumulate(words >> np.uint64(63))
    words[1:] ^= np.negative(before[:-1])  # all ones where the words before hold an odd number
    if flip:
        words = ~words
    return np.unpackbits(words.view(np.uint8), count=len(marks), bitorder="little").view(np.bool_)


def openings(data: Bytes) -> Mask:
    """Return which bytes open an object or array."""
    found: Mask = (data | _CASE) == _OPEN
    return found


def closings(data: Bytes) -> Mask:
    """Return which bytes close an object or array."""
    found: Mask = (data | _CASE) == _CLOSE
    return found


def white_starts(data: Bytes) -> Mask:
    """Return which bytes begin a run of white space."""
    white = _white(data)
    white[1:] &= ~white[:-1]
    return white


def _white(data: Bytes) -> Mask:
    white: Mask = (data == ord(" ")) | (data - ord("\t") < 2) | (data == ord("\r"))  # noqa: PLR2004 - tab and LF
    return white


def next_visible(data: Bytes, places: Offsets) -> Offsets:
    """Return for each place the first byte at or after it that is not white space, or the length."""
    found, size = places.copy(), len(data)
    for _ in range(_STEPS):
        blank = found < size
        blank[blank] = _IS_WHITE[data[found[blank]]]
        if not blank.any():
            return found
        found += blank
    white = _white(data)
    behind = np.append(np.flatnonzero(white[:-1] & ~white[1:]) + 1, size)  # where runs end
    found[blank] = behind[np.searchsorted(behind, found[blank])]
    return found


def last_visible(data: Bytes, places: Offsets, floors: Offsets) -> Offsets:
    """Return for each place the end of the last byte before it that is not white space; at least the floor."""
    found = places.copy()
    for _ in range(_STEPS):
        blank = found > floors
        blank[blank] = _IS_WHITE[data[found[blank] - 1]]
        if not blank.any():
            return found
        found -= blank
    begins = np.flatnonzero(white_starts(data))
    found[blank] = begins[np.searchsorted(begins, found[blank], side="right") - 1]
    return np.maximum(found, floors)
