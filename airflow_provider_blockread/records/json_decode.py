"""JSON objects, one a record, to the columns of a schema.

Arrow's parser is fast but not exact: it takes a value that spans two lines for one row and two values on a line for
two, it fails all of its input for one bad value, and a lone `null` kills the process. So a record that cannot be an
object never reaches it, every batch must hold as many rows as it was given records, and where it does not the
records are looked at one by one; those that still fail are halved until the one to blame stands alone.

No value can span two records that way: both would have to begin with `{` and end with `}`, and between `}` and `{`
JSON wants a comma, while a string admits no line end.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.records.decode import BadRecord, Decoded
from airflow_provider_blockread.records.format import Offsets
from airflow_provider_blockread.records.json_check import object_check
from airflow_provider_blockread.records.schema import parse_schema
from airflow_provider_blockread.records.walking import Chunk

_OPEN, _CLOSE, _CR = b"{}\r"
_WHITE = b" \t\r"
_EXCESS_DIGITS = r"(\.\d{6})\d+"
_ZONE = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Objects:
    """The records of a chunk that may be objects; what lies between two of them is white space."""

    buffer: pa.Buffer
    indices: Offsets  # among the chunk's records
    begins: Offsets
    ends: Offsets

    def text(self, low: int, high: int) -> pa.Buffer:
        begin = int(self.begins[low])
        return self.buffer.slice(begin, int(self.ends[high - 1]) - begin)


class JsonDecoder:
    """One JSON object a record, to the columns of a schema.

    Fields that the schema does not name are left out, fields that an object lacks are null. Times are ISO 8601 text:
    digits beyond microseconds are cut off, an instant without a zone is UTC, and a `timestamp_ntz` must have none.
    `NaN` and `Infinity` are taken for a float or double, as Spark does. `binary` is a string's UTF-8 bytes.
    """

    def __init__(self, schema: str) -> None:
        """Take a schema as text.

        Raises:
            OptionsError: when the schema is malformed, or has a type that JSON cannot be read as.
        """
        self.schema = parse_schema(schema)
        self._check = object_check(self.schema)
        self._options = pyarrow.json.ParseOptions(
            explicit_schema=pa.schema([pa.field(f.name, _read_as(f.type)) for f in self.schema]),
            newlines_in_values=False,
            unexpected_field_behavior="ignore",
        )
        try:
            self._parse(pa.py_buffer(b"{}"), 1)
        except pa.ArrowException as error:
            msg = f"json_lines: schema {schema!r} cannot be read from JSON ({error}); choose other types"
            raise OptionsError(msg) from error

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the objects as rows; what is not one object, or does not fit the schema, is bad."""
        reasons = dict.fromkeys(_odd(chunk), "not a JSON object")
        objects = _objects(chunk, reasons)
        count = len(objects.indices)
        batches: list[pa.RecordBatch] = []
        if count:
            try:
                batches.append(self._parse(objects.text(0, count), count))
            except pa.ArrowInvalid:
                batches.extend(self._apart(chunk, objects.indices, reasons))
        bad = tuple(BadRecord(index=index, reason=reasons[index]) for index in sorted(reasons))
        return Decoded(batch=_joined(batches, self.schema), bad=bad)

    def _apart(self, chunk: Chunk, indices: Offsets, reasons: dict[int, str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of those of the records `indices` that are good, and add to `reasons` why others are not."""
        unread = []
        for index in indices.tolist():
            try:
                reason = self._check(chunk.record(index))
            except (ValueError, RecursionError):
                unread.append(index)
                continue
            if reason is not None:
                reasons[index] = reason
        objects = _objects(chunk, reasons)
        places = np.searchsorted(objects.indices, unread)
        borders = np.unique(np.concatenate([[0], places, places + 1, [len(objects.indices)]]))
        for low, high in pairwise(borders.tolist()):
            yield from self._rows(objects, low, high, reasons)

    def _rows(self, objects: _Objects, low: int, high: int, reasons: dict[int, str]) -> Iterator[pa.RecordBatch]:
        try:
            yield self._parse(objects.text(low, high), high - low)
        except pa.ArrowInvalid as error:
            if high - low == 1:
                reasons[int(objects.indices[low])] = str(error).removesuffix(" in row 0")
                return
            middle = (low + high) // 2
            yield from self._rows(objects, low, middle, reasons)
            yield from self._rows(objects, middle, high, reasons)

    def _parse(self, text: pa.Buffer, count: int) -> pa.RecordBatch:
        """Return the `count` rows of `text`.

        Raises:
            ArrowInvalid: when it is not UTF-8, holds another number of values, or one that does not fit.
        """
        # The parser takes any bytes for a string, so the text is checked as one string beforehand.
        pa.Array.from_buffers(pa.large_string(), 1, [None, _borders(text.size), text]).validate(full=True)
        table = pyarrow.json.read_json(
            pa.BufferReader(text),
            read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=text.size + 1),
            parse_options=self._options,
        )
        if table.num_rows != count:
            msg = f"{table.num_rows} JSON values where {count} should be"
            raise pa.ArrowInvalid(msg)
        arrays = [
            _convert(column.combine_chunks(), kind)
            for column, kind in zip(table.columns, self.schema.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _odd(chunk: Chunk) -> list[int]:
    """Return the records that do not begin with `{` and end with `}`; bytes tell in nearly all cases."""
    if not len(chunk.ends):
        return []
    data = np.frombuffer(chunk.buffer, np.uint8)
    last = np.maximum(chunk.ends - 1, 0)
    last -= (data[last] == _CR) & (last > chunk.begins)
    first = np.minimum(chunk.begins, last)
    suspects = np.flatnonzero((data[first] != _OPEN) | (data[last] != _CLOSE))
    odd = []
    for index in suspects.tolist():
        record = chunk.record(index).strip(_WHITE)
        if not (record.startswith(b"{") and record.endswith(b"}")):
            odd.append(index)
    return odd


def _objects(chunk: Chunk, left_out: Collection[int]) -> _Objects:
    buffer: bytes | bytearray = chunk.buffer
    indices = np.arange(len(chunk.ends), dtype=np.int64)
    if left_out:
        buffer = bytearray(buffer)
        for index in left_out:
            begin, end = int(chunk.begins[index]), int(chunk.ends[index])
            buffer[begin:end] = b" " * (end - begin)
        indices = np.delete(indices, list(left_out))
    return _Objects(
        buffer=pa.py_buffer(buffer), indices=indices, begins=chunk.begins[indices], ends=chunk.ends[indices]
    )


def _borders(size: int) -> pa.Buffer:
    return pa.py_buffer(np.array([0, size], np.int64))


def _joined(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
    return pa.Table.from_batches(batches, schema=schema).combine_chunks().to_batches()[0]


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type to parse as: the parser wants numbers for dates, and drops the zone of a local time."""
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_read_as(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(kind.field(i).name, _read_as(kind.field(i).type)) for i in range(kind.num_fields)])
    return kind


def _convert(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return parsed values as `kind`, at any depth."""
    if values.type == kind:
        return values
    if pa.types.is_list(kind):
        inner = [_convert(values.values, kind.value_type)]
        return pa.Array.from_buffers(kind, len(values), values.buffers()[:2], offset=values.offset, children=inner)
    if pa.types.is_struct(kind):
        inner = [_convert(values.field(i), kind.field(i).type) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(inner, fields=list(kind), mask=values.is_null())
    return pc.cast(values, kind) if pa.types.is_date(kind) else _times(values, kind)


def _times(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    """Return times as `kind`, those without a zone taken for UTC where `kind` is an instant."""
    local = pa.timestamp(kind.unit)
    sample = next((text.as_py() for text in texts if text.is_valid), "")  # a guess: a cast that fails is slow
    if re.search(_EXCESS_DIGITS, sample):
        texts = pc.replace_substring_regex(texts, _EXCESS_DIGITS, r"\1")
    try:
        return pc.cast(pc.cast(texts, kind if re.search(_ZONE, sample) else local), kind)
    except pa.ArrowInvalid:
        texts = pc.replace_substring_regex(texts, _EXCESS_DIGITS, r"\1")
    if kind.tz is None:
        return pc.cast(texts, kind)
    zoned, absent = pc.match_substring_regex(texts, _ZONE), pa.scalar(None, pa.string())
    with_zone = pc.cast(pc.if_else(zoned, texts, absent), kind)
    without = pc.cast(pc.if_else(zoned, absent, texts), local)
    return pc.coalesce(with_zone, pc.cast(without, kind))
