"""JSON objects, one a record, to the columns of a schema.

Arrow's parser is fast but not exact: it takes a value that spans two lines for one row and two values on a line for
two, it fails all of its input for one bad value, and a lone `null` kills the process. So a record that cannot be an
object never reaches it, and every batch must hold as many rows as it was given records. Where it does not, records
are suspected by what the parser says and by patterns, each suspect is judged alone, and the rest is read again without
the guilty ones; where that is not enough, every record is looked at.

No value can span two records: both would have to begin with `{` and end with `}`, and between `}` and `{` JSON wants
a comma, while a string admits no line end, and ends inside a record that was framed as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.records.columns.values import not_utf8
from airflow_provider_blockread.records.decode import raw_values
from airflow_provider_blockread.records.json.check import (
    columns_of_floats,
    columns_without_nulls,
    false_numbers,
    infinite_rows,
    null_rows,
    object_check,
    unlikely_objects,
)
from airflow_provider_blockread.records.json.columns import ColumnReader, Part
from airflow_provider_blockread.records.json.objects import Objects, find_objects, no_objects
from airflow_provider_blockread.records.json.parse import JsonParser, named_row
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoded, Offsets

Reasons = dict[int, str]  # why a record, named by its index in the chunk, is bad

_FALSE_NUMBER = "a number must not be Inf, -Inf or -NaN: write Infinity, -Infinity or NaN"
_PIECE_BYTES = 128 * 2**10  # of a chunk with bad records, most pieces of which have none


class JsonDecoder:
    """One JSON object a record, to the columns of a schema.

    Fields that the schema does not name are left out, fields that an object lacks are null. Times are ISO 8601 text:
    digits beyond microseconds are cut off, an instant without a zone is UTC, and a `timestamp_ntz` must have none.
    `NaN`, `Infinity` and `-Infinity` are taken for a float or double, as Spark does; a number too large for it is bad.
    `binary` is a string's UTF-8 bytes.
    """

    def __init__(self, schema: str, *, commas: bool = False) -> None:
        """Take a schema as text; `commas` says that a comma may stand between two records.

        Raises:
            OptionsError: when the schema is malformed, or has a type that JSON cannot be read as.
        """
        self._parser = JsonParser(schema)
        self.schema = self._parser.schema
        self._columns = ColumnReader(self._parser.read_as)
        self._check = object_check(self.schema)
        self._unlikely = unlikely_objects(self.schema)
        self._of_floats = columns_of_floats(self.schema)
        self._without_nulls = columns_without_nulls(self.schema)
        self._commas = commas
        self._wary = False  # the chunk before had bad records: this one may, too

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the objects as rows; what is not one object, or does not fit the schema, is bad."""
        parts, reasons = self._columns.read(chunk), Reasons()
        others = _others(len(chunk.ends), parts)
        if len(others):
            few = chunk.only(others) if parts else chunk
            misfits: Reasons = dict.fromkeys(false_numbers(few.buffer, partial(raw_values, few)), _FALSE_NUMBER)
            misfits |= dict.fromkeys(no_objects(few), "not a JSON object")
            parts += [
                (others[places], table) for places, table in self._parts(few, self._objects(few, misfits), misfits)
            ]
            reasons = {int(others[place]): why for place, why in misfits.items()}
        batch = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in self.schema.types], schema=self.schema)
        if parts:
            indices, table = _in_order(parts)
            batch, untimely = self._parser.timed(table)
            reasons |= {int(indices[row]): why for row, why in untimely.items()}
            timely = np.delete(indices, list(untimely)) if untimely else indices
            if unfit := self._too_large(chunk, batch, timely) | null_rows(batch, self._without_nulls):
                reasons |= {int(timely[row]): why for row, why in unfit.items()}
                batch = batch.filter(pa.array(~np.isin(np.arange(batch.num_rows), list(unfit))))
        bad = tuple(BadRecord(index=index, reason=reasons[index]) for index in sorted(reasons))
        return Decoded(batch=batch, bad=bad)

    def _too_large(self, chunk: Chunk, batch: pa.RecordBatch, indices: Offsets) -> Reasons:
        """Return which rows hold a number that became infinite, as it was too large for its type, and why."""
        found: Reasons = {}
        for row in infinite_rows(batch, self._of_floats).tolist():
            try:
                why = self._check(chunk.record(int(indices[row])))
            except (ValueError, RecursionError):
                why = "a number may be too large: beside an infinite one there are too many digits or levels to tell"
            found |= {} if why is None else {row: why}
        return found

    def _objects(self, chunk: Chunk, reasons: Reasons) -> Objects:
        return find_objects(chunk, reasons, commas=self._commas)

    def _parts(self, chunk: Chunk, objects: Objects, reasons: Reasons) -> Iterator[Part]:
        """Yield what the parser takes of `objects`, and enter in `reasons` why it does not take others."""
        known = len(reasons)
        if not self._wary:
            try:
                if len(objects):
                    yield self._part(objects)
            except pa.ArrowInvalid:
                self._wary = True
        if self._wary:
            self._screen(chunk, objects, reasons)
            for piece in self._objects(chunk, reasons).pieces(_PIECE_BYTES):
                yield from self._around_bad(chunk, piece, reasons)
            self._wary = len(reasons) > known

    def _part(self, objects: Objects) -> Part:
        return objects.indices, self._parser.read(objects.text(), len(objects))

    def _around_bad(self, chunk: Chunk, objects: Objects, reasons: Reasons) -> Iterator[Part]:
        """Yield the objects before, between and behind those that the parser stops at."""
        while len(objects):
            try:
                yield self._part(objects)
            except pa.ArrowInvalid as error:
                row = named_row(error)
            else:
                return
            named = objects.indices[row : row + 1].tolist() if row is not None else []
            if row is None or not self._judge(chunk, named, reasons):
                yield from self._one_by_one(chunk, objects, reasons)
                return
            yield from self._around_bad(chunk, objects[:row], reasons)
            objects = objects[row + 1 :]

    def _screen(self, chunk: Chunk, objects: Objects, reasons: Reasons) -> None:
        """Enter in `reasons` why some of `objects` are bad: those that the parser refuses without telling which."""
        values = objects.values()
        self._judge(chunk, objects.indices[not_utf8(values)].tolist(), reasons)
        for index in objects.indices[self._unlikely(values)].tolist():
            with suppress(ValueError, RecursionError):
                why = self._check(chunk.record(index))
                reasons |= {} if why is None else {index: why}

    def _left(self, chunk: Chunk, objects: Objects, reasons: Reasons) -> Objects:
        """Return those of `objects` that have no entry in `reasons`."""
        low, high = int(objects.indices[0]), int(objects.indices[-1])
        left = self._objects(chunk, reasons)
        return left[int(np.searchsorted(left.indices, low)) : int(np.searchsorted(left.indices, high + 1))]

    def _judge(self, chunk: Chunk, suspects: list[int], reasons: Reasons) -> bool:
        """Judge records alone, enter in `reasons` why some are bad, and tell whether any is."""
        bad = {index: why for index in suspects if (why := self._why_bad(chunk.record(index))) is not None}
        reasons |= bad
        return bool(bad)

    def _why_bad(self, record: bytes) -> str | None:
        """Return why a record is bad, judged alone, or None where it is good."""
        try:
            why = self._check(record)
        except (ValueError, RecursionError):
            why = None
        if why is None:
            try:
                self._parser.parse(pa.py_buffer(record), 1)
            except pa.ArrowInvalid as error:
                why = _why(error)
        return why

    def _one_by_one(self, chunk: Chunk, objects: Objects, reasons: Reasons) -> Iterator[Part]:
        """Yield those of `objects` that are good, each of which is looked at."""
        unread = []
        for index in objects.indices.tolist():
            try:
                why = self._check(chunk.record(index))
            except (ValueError, RecursionError):
                unread.append(index)
                continue
            if why is not None:
                reasons[index] = why
        objects = self._left(chunk, objects, reasons)
        places: Offsets = np.searchsorted(objects.indices, unread)
        borders = np.unique(np.concatenate([[0], places, places + 1, [len(objects)]]))
        for low, high in pairwise(borders.tolist()):
            yield from self._halved(objects[low:high], reasons)

    def _halved(self, objects: Objects, reasons: Reasons) -> Iterator[Part]:
        try:
            yield self._part(objects)
        except pa.ArrowInvalid as error:
            if len(objects) == 1:
                reasons[int(objects.indices[0])] = _why(error)
                return
            middle = len(objects) // 2
            yield from self._halved(objects[:middle], reasons)
            yield from self._halved(objects[middle:], reasons)


def _others(count: int, parts: list[Part]) -> Offsets:
    """Return the indices below `count` that are in none of the parts."""
    absent = np.ones(count, np.bool_)
    for indices, _ in parts:
        absent[indices] = False
    return np.flatnonzero(absent)


def _in_order(parts: list[Part]) -> Part:
    """Return all parts as one, in the order of the records."""
    indices = np.concatenate([indices for indices, _ in parts])
    table = pa.concat_tables([table for _, table in parts])
    if np.all(indices[:-1] < indices[1:]):
        return indices, table
    order = np.argsort(indices)
    return indices[order], table.combine_chunks().take(pa.array(order))


def _why(error: pa.ArrowInvalid) -> str:
    return str(error).removesuffix(" in row 0")
