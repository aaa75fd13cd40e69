"""Decoding of JSON objects, one a record, into the columns of a schema.

Arrow's parser is fast but not exact: it reads a value that spans two lines as one row and two values on a line as two,
it fails for its whole input because of one bad value, and a lone `null` crashes the process. So a record that cannot be
an object is never passed to it, and every batch must have as many rows as records. Where it has not, the parser's
message and patterns yield suspects, each suspect is checked alone, and the rest is read again without the bad ones;
where that is not enough, every record is checked.

No value can span two records: both would have to begin with `{` and end with `}`, and between `}` and `{` JSON requires
a comma, while a string contains no line end, and ends inside a record that was framed as JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.records.columns.values import not_utf8
from airflow_provider_blockread.records.decode import raw_values
from airflow_provider_blockread.records.json.check import (
    columns_of_floats,
    columns_without_nulls,
    infinite_rows,
    invalid_numbers,
    null_rows,
    object_check,
    unlikely_objects,
)
from airflow_provider_blockread.records.json.columns import ColumnReader, ReadRows
from airflow_provider_blockread.records.json.objects import Objects, find_objects, not_objects
from airflow_provider_blockread.records.json.parse import JsonParser, UnknownFieldError, named_row, reason
from airflow_provider_blockread.records.json.refusals import Refusals
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoded, Offsets

Reasons = dict[int, str]  # why a record, identified by its index in the chunk, is bad

_INVALID_NUMBER = "a number must not be Inf, -Inf or -NaN: write Infinity, -Infinity or NaN"
_FEW = 16  # objects are few where so many times as many records were read column by column
_STOPS = 4  # at a bad object of a piece
_NOTED_BYTES = 2**11  # of a piece in which some objects have other fields
_PIECE_BYTES = 128 * 2**10  # of a chunk with bad records; most pieces have none


class JsonDecoder:
    """Decodes one JSON object a record into the columns of a schema.

    Fields that are not in the schema are left out, and missing fields are null. Times are ISO 8601 text: digits beyond
    microseconds are truncated, an instant without a zone is UTC, and a `timestamp_ntz` must have no zone. `NaN`,
    `Infinity` and `-Infinity` are valid floats and doubles, as in Spark; a number too large for the type is bad.
    `binary` is a string's UTF-8 bytes.
    """

    def __init__(self, schema: str, *, commas: bool = False, notes: bool = False) -> None:
        """Take a schema as text.

        Args:
            schema: names the columns.
            commas: a comma may separate two records.
            notes: note which records have fields that are in no column.

        Raises:
            OptionsError: when the schema is malformed, or has a type that JSON cannot be read as.
        """
        self._parser = JsonParser(schema)
        self.schema = self._parser.schema
        self._columns = ColumnReader(self._parser.read_as, knows_all=notes)
        self._check = object_check(self.schema)
        self._refusals = Refusals(self._parser)
        self._unlikely = unlikely_objects(self.schema)
        self._of_floats = columns_of_floats(self.schema)
        self._without_nulls = columns_without_nulls(self.schema)
        self._commas, self._notes = commas, notes
        self._odd: list[Offsets] = []  # where there may be other fields, among the records that are parsed
        self._expect_bad = False  # the previous chunk had bad records, so this one may

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the objects as rows; a record that is not one object, or does not fit the schema, is bad."""
        return self.read(chunk)[0]

    def read(self, chunk: Chunk) -> tuple[Decoded, Offsets]:
        """Return also which records may have fields that are in no column, where these are noted; some are bad."""
        tables, reasons = self._columns.read(chunk), Reasons()
        self._odd = []
        unread = _unread(len(chunk.ends), tables)
        if len(unread):
            subset = chunk.with_lines([chunk.record(index) for index in unread.tolist()]) if tables else chunk
            misfits: Reasons = dict.fromkeys(
                invalid_numbers(subset.buffer, partial(raw_values, subset)), _INVALID_NUMBER
            )
            misfits |= dict.fromkeys(not_objects(subset), "not a JSON object")
            few = len(unread) * _FEW < len(chunk.ends)
            tables += [(unread[places], table) for places, table in self._read_objects(subset, misfits, few=few)]
            reasons = {int(unread[place]): why for place, why in misfits.items()}
        batch = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in self.schema.types], schema=self.schema)
        if tables:
            indices, table = _in_order(tables)
            batch, bad_times = self._parser.timed(table)
            reasons |= {int(indices[row]): why for row, why in bad_times.items()}
            kept = np.delete(indices, list(bad_times)) if bad_times else indices
            if unfit := self._too_large(chunk, batch, kept) | null_rows(batch, self._without_nulls):
                reasons |= {int(kept[row]): why for row, why in unfit.items()}
                batch = batch.filter(pa.array(~np.isin(np.arange(batch.num_rows), list(unfit))))
        bad = tuple(BadRecord(index=index, reason=reasons[index]) for index in sorted(reasons))
        odd = unread[np.unique(np.concatenate(self._odd))] if self._odd else unread[:0]
        return Decoded(batch=batch, bad=bad), odd

    def _too_large(self, chunk: Chunk, batch: pa.RecordBatch, indices: Offsets) -> Reasons:
        """Return the rows with a number that is too large for its type and became infinite, and why."""
        found: Reasons = {}
        for row in infinite_rows(batch, self._of_floats).tolist():
            why = self._check(chunk.record(int(indices[row])))
            if why is not None:
                found[row] = why or "a number may be too large: the record has too many digits or levels to check"
        return found

    def _read_objects(self, chunk: Chunk, reasons: Reasons, *, few: bool) -> Iterator[ReadRows]:
        """Yield the rows of the objects that the parser reads, and add to `reasons` why it refuses others.

        A call of the parser takes as long as some dozens of checks, so a few objects are all checked first.
        """
        objects, known = find_objects(chunk, reasons, commas=self._commas), len(reasons)
        if not self._expect_bad:
            try:
                if len(objects):
                    yield from self._read(objects)
            except pa.ArrowInvalid:
                self._expect_bad = True
        if self._expect_bad:
            self._check_suspects(chunk, objects, reasons, few=few)
            for piece in find_objects(chunk, reasons, commas=self._commas).pieces(_PIECE_BYTES):
                yield from self._around_bad(chunk, piece, reasons)
            self._expect_bad = len(reasons) > known

    def _read(self, objects: Objects) -> list[ReadRows]:
        if self._notes:
            return self._read_noting(objects)
        return [(objects.indices, self._parser.read(objects.text(), len(objects)))]

    def _read_noting(self, objects: Objects) -> list[ReadRows]:
        """Return the rows, and note those of the pieces in which there are fields that are in no column."""
        try:
            return [(objects.indices, self._parser.read(objects.text(), len(objects), knows_all=True))]
        except UnknownFieldError:
            pieces = list(objects.pieces(_NOTED_BYTES))
        if len(pieces) > 1:
            return [rows for piece in pieces for rows in self._read_noting(piece)]
        table = self._parser.read(objects.text(), len(objects))
        self._odd.append(objects.indices)
        return [(objects.indices, table)]

    def _around_bad(self, chunk: Chunk, objects: Objects, reasons: Reasons) -> Iterator[ReadRows]:
        """Yield the rows of the objects before, between and after those at which the parser stops.

        Where it stops often, those that it must refuse are sought first.
        """
        for stops in count():
            if stops == _STOPS:
                self._seek_refused(chunk, objects, reasons)
                objects = objects.without(reasons) if len(objects) else objects
            if not len(objects):
                return
            try:
                yield from self._read(objects)
            except pa.ArrowInvalid as error:
                row = named_row(error)
            else:
                return
            named = objects.indices[row : row + 1].tolist() if row is not None else []
            if row is None or not self._check_each(chunk, named, reasons):
                yield from self._one_by_one(chunk, objects, reasons)
                return
            yield from self._around_bad(chunk, objects[:row], reasons)
            objects = objects[row + 1 :]

    def _seek_refused(self, chunk: Chunk, objects: Objects, reasons: Reasons) -> None:
        for index in objects.indices.tolist():
            refused = self._refusals.why(chunk.record(index))
            if refused is not None:
                reasons[index] = self._check(chunk.record(index)) or refused

    def _check_suspects(self, chunk: Chunk, objects: Objects, reasons: Reasons, *, few: bool) -> None:
        """Add to `reasons` why some of `objects` are bad, for errors of the parser that name no row."""
        values = objects.values()
        self._check_each(chunk, objects.indices[not_utf8(values)].tolist(), reasons)
        suspects = objects.indices if few else objects.indices[self._unlikely(values)]
        self._check_each(chunk, suspects.tolist(), reasons)

    def _check_each(self, chunk: Chunk, suspects: list[int], reasons: Reasons) -> bool:
        """Check records one by one, add to `reasons` why some are bad, and return whether any is."""
        bad = {index: why for index in suspects if (why := self._why_bad(chunk.record(index))) is not None}
        reasons |= bad
        return bool(bad)

    def _why_bad(self, record: bytes) -> str | None:
        """Return why a record by itself is bad, or None where it is good."""
        return self._check(record) or self._refusals.why(record)

    def _one_by_one(self, chunk: Chunk, objects: Objects, reasons: Reasons) -> Iterator[ReadRows]:
        """Yield the rows of `objects` that are good, after a check of each."""
        self._check_each(chunk, objects.indices.tolist(), reasons)
        yield from self._halved(objects.without(reasons), reasons)

    def _halved(self, objects: Objects, reasons: Reasons) -> Iterator[ReadRows]:
        if not len(objects):
            return
        try:
            yield from self._read(objects)
        except pa.ArrowInvalid as error:
            if len(objects) == 1:
                reasons[int(objects.indices[0])] = reason(error)
                return
            middle = len(objects) // 2
            yield from self._halved(objects[:middle], reasons)
            yield from self._halved(objects[middle:], reasons)


def _unread(count: int, tables: list[ReadRows]) -> Offsets:
    """Return the indices below `count` that are in none of the tables."""
    absent = np.ones(count, np.bool_)
    for indices, _ in tables:
        absent[indices] = False
    return np.flatnonzero(absent)


def _in_order(tables: list[ReadRows]) -> ReadRows:
    """Return all rows as one table, in the order of the records."""
    indices = np.concatenate([indices for indices, _ in tables])
    table = pa.concat_tables([table for _, table in tables])
    if np.all(indices[:-1] < indices[1:]):
        return indices, table
    order = np.argsort(indices)
    return indices[order], table.combine_chunks().take(pa.array(order))
