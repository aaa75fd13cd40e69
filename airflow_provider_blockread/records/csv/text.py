"""A chunk of CSV rows as text that Arrow's parser reads as Python's `csv` does.

Without escapes the two differ in this only: Arrow reads a blank line as a row of empty fields, skips a byte order mark,
and supports only ASCII marks other than NUL. With escapes they differ on one right after a closing quote, on one at the
file's end, and on one in the text of a null: rows with these are rewritten. Other marks are replaced by control bytes
that do not occur in the chunk, and restored in the fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.records.csv.fields import Dialect
from airflow_provider_blockread.records.model import Chunk
from airflow_provider_blockread.records.text.pieces import after_odd_runs

_BOM = b"\xef\xbb\xbf"
_FREE = tuple(chr(code) for code in range(0x01, 0x20) if chr(code) not in "\t\n\v\f\r")
_NOWHERE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class CsvText:
    """Rows as text, its dialect, and the pairs (replacement, mark) of the marks that were replaced."""

    text: bytes
    dialect: Dialect
    replaced: tuple[tuple[bytes, bytes], ...] = ()

    def restore(self, values: pa.BinaryArray) -> pa.BinaryArray:
        """Return the values of fields with their original marks."""
        for replacement, mark in self.replaced:
            values = pc.replace_substring(values, pattern=replacement, replacement=mark)
        return values


def csv_text(chunk: Chunk, dialect: Dialect, null: str) -> CsvText:
    """Return the records of a chunk as text for Arrow's parser."""
    disputed = _disputed(chunk, dialect, null) if dialect.escape is not None and len(chunk.ends) else ()
    text = _joined(chunk, {index: dialect.rewrite(chunk.record(index), dialect, null) for index in disputed})
    marks = dialect.marks
    replaced = []
    for name, mark in dialect.marks.items():
        if mark.isascii() and mark != "\0":
            continue
        used = {*marks.values(), *null}  # the parser looks for nulls before marks are restored
        free = next((byte for byte in _FREE if byte not in used and byte.encode() not in text), None)
        if free is None:
            return rewritten(chunk, dialect, null)
        text = text.replace(dialect.encode(mark), free.encode())
        replaced.append((free.encode(), dialect.encode(mark)))
        marks[name] = free
    return CsvText(text=_whole(text), dialect=replace(dialect, **marks), replaced=tuple(replaced))


def rewritten(chunk: Chunk, dialect: Dialect, null: str) -> CsvText:
    """Return the records of a chunk with every row rewritten in a dialect that all parsers read alike; slow."""
    plain = Dialect(",", '"', None, dialect.codec)
    every = range(len(chunk.ends))
    text = _joined(chunk, {index: dialect.rewrite(chunk.record(index), plain, null) for index in every})
    return CsvText(text=_whole(text), dialect=plain)


def _whole(text: bytes) -> bytes:
    """Return text with a byte order mark for the parser to skip, where it would skip or miss bytes of the data."""
    return _BOM + text if text[:1] == _BOM[:1] else text


def _joined(chunk: Chunk, rewritten_rows: Mapping[int, bytes]) -> bytes:
    """Return the records, some of them replaced, each with a terminator, without what was skipped between them."""
    starts, nexts, last = chunk.starts, chunk.nexts, len(chunk.starts)
    gaps = np.flatnonzero(starts[1:] != nexts[:-1]) + 1
    places = np.fromiter(rewritten_rows, np.int64, len(rewritten_rows))
    borders = np.unique(np.concatenate([gaps, places, places + 1, [0, last]]))
    pieces = []
    for low, high in pairwise(borders.tolist()):
        piece = rewritten_rows[low] + b"\n" if low in rewritten_rows else chunk.buffer[starts[low] : nexts[high - 1]]
        # A carriage return must not meet a newline that ended a blank record.
        pieces.append(piece + b"\n" if piece.endswith(b"\r") and high < last else piece)
    if last and last - 1 not in rewritten_rows and chunk.ends[-1] == nexts[-1]:
        pieces.append(b"\n")  # the parser reads an empty field at the text's end as quoted if the one before was
    return b"".join(pieces)


def _disputed(chunk: Chunk, dialect: Dialect, null: str) -> Iterable[int]:
    """Return the records with an escape that may be right after a closing quote, be part of `null`, or end the file."""
    escape = dialect.encode(dialect.escape or "")
    places = _NOWHERE
    if dialect.quote is not None:
        pair = re.escape(dialect.encode(dialect.quote) + escape)
        places = np.array([match.start() for match in re.finditer(pair, chunk.buffer)], np.int64)
    if len(places) and len(escape) == 1:
        places = places[~after_odd_runs(np.frombuffer(chunk.buffer, np.uint8), places, escape[0])]
    if dialect.escapes(null):  # the parser compares fields without their escapes
        absent = re.finditer(re.escape(null.encode()), chunk.buffer)
        places = np.concatenate([places, np.array([match.start() for match in absent], np.int64)])
    found = np.searchsorted(chunk.starts, places, "right") - 1
    inside = (found >= 0) & (places < chunk.ends[found])
    records = set(found[inside].tolist())
    if chunk.ends[-1] == chunk.nexts[-1] and chunk.record(len(chunk.ends) - 1).endswith(escape):
        records.add(len(chunk.ends) - 1)
    return records
