"""Decoding of flat JSON objects of the same layout, a column at a time: twice as fast as a parser.

Objects are read here only where the parser would read the same values; all others, good or bad, are left to the parser.
Layouts are found in a sample of each chunk: they determine which records are read here, but not their values.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.records.columns.usual import plain_numbers
from airflow_provider_blockread.records.columns.values import convert, not_utf8, require_utf8, without
from airflow_provider_blockread.records.decode import raw_between, raw_values
from airflow_provider_blockread.records.json.layout import Layout, MarkedRecords, Spans, layout_of
from airflow_provider_blockread.records.model import Chunk, Mask, Offsets

_SAMPLE = 8  # records of a chunk; half of them must share their layout with another one
_FEWEST = 16  # records for each value of a layout: a call costs as much as that many values
_ENOUGH = 8  # layouts are kept where fewer than one record in so many has another one
_LARGEST = 2**30  # bytes of a chunk, whose offsets must fit 32 bits
_WHOLE = "-?(?:0|[1-9][0-9]{0,30})"
_NUMBER = rf"{_WHOLE}(?:\.[0-9]{{1,31}})?(?:[eE]-[0-9]{{1,2}})?"


ReadRows = tuple[Offsets, pa.Table]  # the indices of records in their chunk, and their rows


class ColumnReader:
    """Reads flat objects into a table of numbers, booleans and text."""

    def __init__(self, schema: pa.Schema, *, knows_all: bool = False) -> None:
        """Take the columns of the table; other fields of an object are left out, or such objects if it `knows_all`."""
        self._schema = schema
        self._kinds: dict[str, pa.DataType] = dict(zip(schema.names, schema.types, strict=True))
        self._knows_all = knows_all
        self._layouts: tuple[Layout, ...] = ()  # those of the previous chunk, where nearly all of its records had one

    def read(self, chunk: Chunk) -> list[ReadRows]:
        """Return the rows of the records that could be read, in one table for each layout.

        A record is read where many others have its layout, and its values have the usual form for their columns.
        """
        if len(chunk.ends) < _FEWEST or len(chunk.buffer) > _LARGEST:
            return []
        layouts, tables = self._layouts or self._usual_layouts(chunk), []
        self._layouts = ()
        if not layouts:
            return []
        records, left = MarkedRecords(chunk), _utf8_records(chunk)
        for layout in layouts:
            found, spans = records.laid_out(layout, left)
            if not len(found):
                continue
            table, fits = self._table(chunk, layout, spans)
            if not fits.all():
                found, table = found[fits], table.filter(pa.array(fits))
            tables.append((found, table))
            left = np.setdiff1d(left, found, assume_unique=True) if len(found) < len(left) else found[:0]
        if len(left) * _ENOUGH < len(chunk.ends):
            self._layouts = layouts
        return tables

    def _usual_layouts(self, chunk: Chunk) -> tuple[Layout, ...]:
        """Return the frequent layouts of a chunk's records, or none where most records have other ones."""
        count = len(chunk.ends)
        sample = np.linspace(0, count - 1, _SAMPLE).astype(np.int64).tolist()
        seen = Counter(layout_of(chunk.record(index)) for index in sample)
        usual = {
            layout: times
            for layout, times in seen.items()
            if layout and times > 1 and len(layout.names) * _FEWEST <= count and self._is_readable(layout)
        }
        return tuple(usual) if sum(usual.values()) * 2 >= _SAMPLE else ()

    def _is_readable(self, layout: Layout) -> bool:
        if self._knows_all and not set(layout.names) <= self._kinds.keys():
            return False
        for number, name in enumerate(layout.names):
            kind = self._kinds.get(name)
            takes = kind is None or kind in {pa.string(), pa.binary()}
            if not takes and (layout.is_quoted(number) or not (_is_number(kind) or pa.types.is_boolean(kind))):
                return False
        return True

    def _table(self, chunk: Chunk, layout: Layout, spans: list[Spans]) -> tuple[pa.Table, Mask]:
        """Return the values at `spans` as rows, and which of the rows equal what the parser would read."""
        fits = np.ones(len(spans[0][0]), np.bool_)
        columns = {name: pa.nulls(len(fits), kind) for name, kind in self._kinds.items() if name not in layout.names}
        for number, name in enumerate(layout.names):
            kind = self._kinds.get(name)
            if not layout.is_quoted(number):
                texts = raw_between(chunk.buffer, *spans[number]).view(pa.string())
                columns[name], misfits = _bare(texts, kind)
                fits[misfits] = False
            elif kind is not None:
                columns[name] = raw_between(chunk.buffer, *spans[number]).view(kind)
        return pa.Table.from_arrays([columns[name] for name in self._kinds], schema=self._schema), fits


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or kind in {pa.float32(), pa.float64()}


def _utf8_records(chunk: Chunk) -> Offsets:
    every, begin, end = np.arange(len(chunk.ends)), int(chunk.begins[0]), int(chunk.ends[-1])
    if not chunk.buffer.isascii():
        try:
            require_utf8(pa.py_buffer(chunk.buffer).slice(begin, end - begin))
        except pa.ArrowInvalid:
            return np.delete(every, not_utf8(raw_values(chunk)))
    return every


def _bare(texts: pa.StringArray, kind: pa.DataType | None) -> tuple[pa.Array, Offsets]:
    """Return values without quotes as `kind`, and the places of those that the parser may refuse.

    Without a kind, the values are ignored, but they must be valid JSON.
    """
    doubtful = np.arange(len(texts))
    if kind is None or _is_number(kind):
        doubtful = np.flatnonzero(~plain_numbers(texts))
    bad = doubtful[:0]
    if len(doubtful):
        asked = texts.take(pa.array(doubtful))
        good = np.asarray(pc.match_substring_regex(asked, f"^(?:{_literals(kind)})$"))
        kept = good & (kind is not None) & np.asarray(pc.not_equal(asked, "null"))
        texts, bad = without(texts, doubtful[~kept]), doubtful[~good]
    array, misfits = convert(texts, pa.float64() if kind is None else kind)
    return array, np.concatenate([bad, misfits])


def _literals(kind: pa.DataType | None) -> str:
    """Return a pattern of the values of a type that are written without quotes."""
    if kind is None:
        return f"null|true|false|{_NUMBER}"
    if _is_number(kind):
        return f"null|{_WHOLE if pa.types.is_integer(kind) else _NUMBER}"
    return "null|true|false" if pa.types.is_boolean(kind) else "null"
