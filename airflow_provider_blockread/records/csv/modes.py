"""CSV as an automaton over bytes, run over whole arrays; the transition table below defines it.

The effect of a byte on the modes is a function, and functions compose. All texts amount to few functions (17 for quotes
alone, 267 with escapes), so these are numbered and their products kept in a table. A buffer's bytes are then an array
of numbers, which products of neighbours halve until one is left: the function of the buffer. Descending the same tree
gives the mode before every byte.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from airflow_provider_blockread.records.model import Offsets
from airflow_provider_blockread.records.statemap import StateMap

#: At a row's start, at a field's start, in a field, in quotes, after a quote in quotes, after an escape (in quotes).
START, FIELD, TEXT, QUOTED, QUOTE, ESCAPED, ESCAPED_QUOTED, COMMENT = range(8)
#: Classes of bytes.
_OTHER, _NEWLINE, _DELIMITER, _QUOTE, _ESCAPE, _COMMENT = _CLASSES = range(6)
_WIDTH = len(_CLASSES)
_PIECE_BYTES = 64 * 2**10  # processed at once: its arrays fit the processor's cache

# For each mode, the next mode by class of byte, as in Python's `csv`. An escape right after a closing quote is text; so
# is the newline after an escape, and its field continues.
_TABLE = {
    START: (TEXT, START, FIELD, QUOTED, ESCAPED, COMMENT),
    FIELD: (TEXT, START, FIELD, QUOTED, ESCAPED, TEXT),
    TEXT: (TEXT, START, FIELD, TEXT, ESCAPED, TEXT),
    QUOTED: (QUOTED, QUOTED, QUOTED, QUOTE, ESCAPED_QUOTED, QUOTED),
    QUOTE: (TEXT, START, FIELD, QUOTED, TEXT, TEXT),
    ESCAPED: (TEXT,) * 6,
    ESCAPED_QUOTED: (QUOTED,) * 6,
    COMMENT: (COMMENT, START, COMMENT, COMMENT, COMMENT, COMMENT),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecialBytes:
    """The bytes with a meaning in CSV, one each."""

    delimiter: bytes
    quote: bytes | None
    escape: bytes | None
    comment: bytes | None


class Automaton:
    """The modes of a CSV dialect, numbered from 0 = at a row's start, and the effect of bytes on them."""

    def __init__(self, marks: SpecialBytes) -> None:
        used = [_OTHER, _NEWLINE, _DELIMITER]
        classes = bytearray(256)
        classes[ord("\n")] = classes[ord("\r")] = _NEWLINE
        classes[ord(marks.delimiter)] = _DELIMITER
        for kind, mark in ((_QUOTE, marks.quote), (_ESCAPE, marks.escape), (_COMMENT, marks.comment)):
            if mark is not None:
                classes[ord(mark)] = kind
                used.append(kind)
        self._classes = bytes(classes)
        self._algebra = _algebra(tuple(used))

    @property
    def modes(self) -> int:
        """The number of modes."""
        return len(self._algebra.modes)

    def number(self, mode: int) -> int:
        """Return the number of one of this module's modes, or -1 where the dialect never is in it."""
        return self._algebra.numbers.get(mode, -1)

    def newlines(self, buffer: bytes, mode: int) -> tuple[Offsets, int]:
        """Return the bytes LF and CR of `buffer` that end rows, and the mode after the buffer."""
        found = []
        for low in range(0, len(buffer), _PIECE_BYTES):
            places, codes, levels = self._run(buffer[low : low + _PIECE_BYTES])
            newlines = np.flatnonzero(codes % _WIDTH == _NEWLINE)
            before = self._algebra.modes_before(levels, mode)[newlines]
            found.append(places[newlines[self._algebra.apply(levels[0][newlines], before) == 0]] + low)
            mode = self._algebra.map_of(levels)(mode)
        return np.concatenate(found or [np.empty(0, np.int64)]), mode

    def effect(self, buffer: bytes) -> StateMap:
        """Return the state map of `buffer`."""
        effect = StateMap.identity(self.modes)
        for low in range(0, len(buffer), _PIECE_BYTES):
            levels = self._run(buffer[low : low + _PIECE_BYTES])[2]
            effect = effect.then(self._algebra.map_of(levels))
        return effect

    def _run(self, piece: bytes) -> tuple[Offsets, npt.NDArray[np.uint8], list[Offsets]]:
        """Return the places and codes of bytes with a meaning, and the products of the functions of all bytes.

        A code is the byte's class, plus `_WIDTH` after a byte without a meaning. The last function is that of the bytes
        without a meaning at the piece's end.
        """
        classes = np.frombuffer(piece.translate(self._classes), np.uint8)
        codes = classes.copy()
        codes[1:] += (classes[:-1] == _OTHER) * np.uint8(_WIDTH)
        places = np.flatnonzero(classes)
        codes = codes[places]
        tail = self._algebra.steps[_WIDTH if classes[-1] == _OTHER else _OTHER]
        return places, codes, self._algebra.products(np.append(self._algebra.steps.take(codes), tail))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Algebra:
    """The functions of all texts, numbered from 0 = the identity."""

    modes: tuple[int, ...]
    numbers: dict[int, int]
    effects: Offsets  # function, mode -> mode
    table: Offsets  # function, function -> the one after the other
    steps: Offsets  # code of a byte -> function

    def apply(self, functions: Offsets, modes: Offsets) -> Offsets:
        """Return the result of each function for the mode at the same index."""
        return self.effects.take(functions * len(self.modes) + modes)  # three times as fast as two subscripts

    def map_of(self, levels: list[Offsets]) -> StateMap:
        """Return the state map of the product of all functions."""
        return StateMap(tuple(self.effects[levels[-1][0]].tolist()))

    def products(self, functions: Offsets) -> list[Offsets]:
        """Return the functions, the products of their pairs, of pairs of pairs, up to the product of all."""
        levels = [functions]
        while len(functions) > 1:
            if len(functions) % 2:
                levels[-1] = functions = np.append(functions, 0)
            functions = self.table.take(functions[::2] * len(self.table) + functions[1::2])
            levels.append(functions)
        return levels

    def modes_before(self, levels: list[Offsets], mode: int) -> Offsets:
        """Return the mode before each function of the lowest level, for the `mode` before the first."""
        modes = np.array([mode])
        for functions in reversed(levels[:-1]):
            both = np.empty(len(functions), np.intp)
            both[::2] = modes[: len(both) // 2]  # without the padding to an even number
            both[1::2] = self.apply(functions[::2], both[::2])
            modes = both
        return modes


@cache
def _algebra(classes: tuple[int, ...]) -> _Algebra:
    """Return the functions of all texts over these classes of bytes."""
    same = {mode: mode for mode in _TABLE}
    if _ESCAPE not in classes:
        same[QUOTE] = FIELD
    if _COMMENT not in classes:
        same[FIELD] = START
        same[QUOTE] = same[same[QUOTE]]
    modes = [START]
    for mode in modes:  # grows during the iteration
        modes += dict.fromkeys(n for c in classes if (n := same[_TABLE[mode][c]]) not in modes)
    numbers = {mode: number for number, mode in enumerate(modes)}
    numbers |= {mode: numbers[other] for mode, other in same.items() if other in numbers}
    generators = [tuple(numbers[_TABLE[mode][c]] for mode in modes) for c in classes]
    functions = [tuple(range(len(modes)))]
    known = {functions[0]: 0}
    onward: list[list[int]] = []  # function, generator -> function
    origin = [(0, 0)]  # each function as an earlier one and a generator
    for number, function in enumerate(functions):  # grows during the iteration
        onward.append([])
        for index, generator in enumerate(generators):
            product = tuple(generator[mode] for mode in function)
            if product not in known:
                known[product] = len(functions)
                functions.append(product)
                origin.append((number, index))
            onward[number].append(known[product])
    return _Algebra(
        modes=tuple(modes),
        numbers=numbers,
        effects=np.array(functions, np.intp),
        table=_products(np.array(onward, np.intp), origin),
        steps=_step_numbers(classes, onward),
    )


def _products(onward: Offsets, origin: list[tuple[int, int]]) -> Offsets:
    """Return the table of products; each column follows from that of the function's origin."""
    columns = np.empty((len(origin), len(origin)), np.intp)
    columns[0] = np.arange(len(origin))
    for number, (earlier, generator) in enumerate(origin[1:], 1):
        columns[number] = onward[:, generator].take(columns[earlier])
    return np.ascontiguousarray(columns.T)


def _step_numbers(classes: tuple[int, ...], onward: list[list[int]]) -> Offsets:
    """Return the function of each code: of a byte alone, and of one after bytes without a meaning."""
    steps = np.zeros(2 * _WIDTH, np.intp)
    other = onward[0][classes.index(_OTHER)]
    for index, kind in enumerate(classes):
        steps[kind], steps[kind + _WIDTH] = onward[0][index], onward[other][index]
    steps[_OTHER] = 0
    return steps
