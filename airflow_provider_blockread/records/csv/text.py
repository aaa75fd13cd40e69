"""A chunk of csv rows as text that Arrow's parser reads as Python's `csv` does.

Without escapes the two agree on all text but these: Arrow takes a blank line for a row of empty fields, skips a byte
order mark, and knows only ASCII marks other than NUL. With escapes they differ about one right behind a closing quote,
and one that ends the file: rows with such an escape are written anew. Other marks are replaced by control bytes that
the chunk does not hold, and put back into the fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.records.csv.fields import Dialect
from airflow_provider_blockread.records.model import Chunk, Mask, Offsets

_BOM = b"\xef\xbb\xbf"
_FREE = tuple(chr(code) for code in range(0x01, 0x20) if chr(code) not in "\t\n\v\f\r")
_NOWHERE = np.empty(0, np.int64)
_MOST_ESCAPES = 64  # that are counted before a quote; more, and its row is written anew


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvText:
    """Rows as text, its marks, and for marks that were replaced what stands for what."""

    text: bytes
    dialect: Dialect
    replaced: tuple[tuple[bytes, bytes], ...] = ()

    def restore(self, values: pa.BinaryArray) -> pa.BinaryArray:
        """Return values of fields with the marks inside them put back."""
        for ours, mark in self.replaced:
            values = pc.replace_substring(values, pattern=ours, replacement=mark)
        return values


def csv_text(chunk: Chunk, dialect: Dialect) -> CsvText:
    """Return the records of a chunk, and nothing else, as text for Arrow's parser."""
    disputed = _disputed(chunk, dialect) if dialect.escape is not None and len(chunk.ends) else ()
    text = _joined(chunk, {index: _anew(chunk, index, dialect, dialect) for index in disputed})
    marks = dialect.marks
    replaced = []
    for name, mark in dialect.marks.items():
        if mark.isascii() and mark != "\0":
            continue
        free = next((ours for ours in _FREE if ours not in marks.values() and ours.encode() not in text), None)
        if free is None:
            return rewritten(chunk, dialect)
        text = text.replace(dialect.encode(mark), free.encode())
        replaced.append((free.encode(), dialect.encode(mark)))
        marks[name] = free
    return CsvText(text=_whole(text), dialect=replace(dialect, **marks), replaced=tuple(replaced))


def rewritten(chunk: Chunk, dialect: Dialect) -> CsvText:
    """Return the same with every row written anew, with marks that any parser knows; slow."""
    plain = Dialect(",", '"', None, dialect.codec)
    text = _joined(chunk, {index: _anew(chunk, index, dialect, plain) for index in range(len(chunk.ends))})
    return CsvText(text=_whole(text), dialect=plain)


def _anew(chunk: Chunk, index: int, dialect: Dialect, written: Dialect) -> bytes:
    return dialect.rewrite(dialect.decode(chunk.record(index)), written)


def _whole(text: bytes) -> bytes:
    """Return text of which the parser skips no more than an own byte order mark, and misses no end of one."""
    return _BOM + text if text[:1] == _BOM[:1] else text


def _joined(chunk: Chunk, anew: Mapping[int, bytes]) -> bytes:
    """Return the records, some of them replaced, without what was skipped between them, each one ended."""
    starts, nexts, last = chunk.starts, chunk.nexts, len(chunk.starts)
    gaps = np.flatnonzero(starts[1:] != nexts[:-1]) + 1
    places = np.fromiter(anew, np.int64, len(anew))
    borders = np.unique(np.concatenate([gaps, places, places + 1, [0, last]]))
    pieces = []
    for low, high in pairwise(borders.tolist()):
        piece = anew[low] + b"\n" if low in anew else chunk.buffer[starts[low] : nexts[high - 1]]
        # A carriage return must not meet a newline that ended a blank record.
        pieces.append(piece + b"\n" if piece.endswith(b"\r") and high < last else piece)
    if last and last - 1 not in anew and chunk.ends[-1] == nexts[-1]:
        pieces.append(b"\n")  # the parser takes an empty field at the end of text for quoted if the one before was
    return b"".join(pieces)


def _disputed(chunk: Chunk, dialect: Dialect) -> Iterable[int]:
    """Return the records with an escape that may stand right behind a closing quote, or that ends the file."""
    escape = dialect.encode(dialect.escape or "")
    places = _NOWHERE
    if dialect.quote is not None:
        pair = re.escape(dialect.encode(dialect.quote) + escape)
        places = np.array([match.start() for match in re.finditer(pair, chunk.buffer)], np.int64)
    if len(places) and len(escape) == 1:
        places = places[~_escaped(np.frombuffer(chunk.buffer, np.uint8), places, escape[0])]
    found = np.searchsorted(chunk.starts, places, "right") - 1
    inside = (found >= 0) & (places < chunk.ends[found])
    records = set(found[inside].tolist())
    if chunk.ends[-1] == chunk.nexts[-1] and chunk.record(len(chunk.ends) - 1).endswith(escape):
        records.add(len(chunk.ends) - 1)
    return records


def _escaped(data: npt.NDArray[np.uint8], places: Offsets, escape: int) -> Mask:
    """Tell which bytes follow an odd run of escapes."""
    lengths, running = np.zeros(len(places), np.int64), np.arange(len(places))
    for back in range(1, _MOST_ESCAPES + 1):
        running = running[places[running] >= back]
        running = running[data[places[running] - back] == escape]
        lengths[running] += 1
    lengths[running] = 0  # too many to tell
    odd: Mask = lengths % 2 == 1
    return odd
