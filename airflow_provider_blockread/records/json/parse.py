"""Arrow's JSON parser for a schema: first text to a table, then times from text to the schema's types."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from airflow_provider_blockread.errors import OptionsError
from airflow_provider_blockread.records.columns.schema import parse_schema
from airflow_provider_blockread.records.columns.times import check_times, quick_times, times, times_reader
from airflow_provider_blockread.records.columns.usual import usual_times
from airflow_provider_blockread.records.columns.values import many_failures, require_utf8
from airflow_provider_blockread.records.model import Offsets

ReadTimes = Callable[[pa.StringArray, pa.DataType], pa.Array]

_MOST_DIGITS = 76  # of a 256-bit decimal
_UNKNOWN = "unexpected field"  # in messages of Arrow's parser
_ROW = re.compile(r" in row (\d+)$")


class UnknownFieldError(Exception):
    """An object has a field that is in no column."""


class JsonParser:
    """Reads text that consists of JSON objects and white space into the columns of a schema.

    Arrow reads times as text first; `read` and `typed` are the two steps.
    """

    def __init__(self, schema: str) -> None:
        """Take a schema as text.

        Raises:
            OptionsError: when the schema is malformed, or has a type that JSON cannot be read as, here or at all.
        """
        self.schema = parse_schema(schema)
        check_times(self.schema)
        try:
            self.read_as = pa.schema([pa.field(f.name, _read_as(f.type)) for f in self.schema])  # times as text
            self._options, self._strict_options = (
                pyarrow.json.ParseOptions(
                    explicit_schema=self.read_as, newlines_in_values=False, unexpected_field_behavior=behavior
                )
                for behavior in ("ignore", "error")
            )
            self.typed(self.read(pa.py_buffer(b"{}"), 1))
        except pa.ArrowException as error:
            msg = f"schema {schema!r} cannot be read from JSON ({error}); choose other types, such as string"
            raise OptionsError(msg) from error

    def read(self, text: pa.Buffer, count: int, *, knows_all: bool = False) -> pa.Table:
        """Return the `count` rows of `text`, times as text.

        Raises:
            ArrowInvalid: when it is not UTF-8, or has another number of values or one that does not fit.
            UnknownFieldError: when it should know all fields, and there is another one.
        """
        # The parser accepts any bytes in a string, so the text is checked first.
        require_utf8(text)
        try:
            table = pyarrow.json.read_json(
                pa.BufferReader(text),
                read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=text.size + 1),
                parse_options=self._strict_options if knows_all else self._options,
            )
        except pa.ArrowInvalid as error:
            if knows_all and _UNKNOWN in str(error):
                raise UnknownFieldError from error
            raise
        if table.num_rows != count:
            msg = f"{table.num_rows} JSON values, expected {count}"
            raise pa.ArrowInvalid(msg)
        return table

    def typed(self, table: pa.Table, read_times: ReadTimes = times) -> pa.RecordBatch:
        """Return the rows with their times in the schema's types.

        Raises:
            ArrowInvalid: when a text is not a time.
        """
        arrays = [
            _convert(column.combine_chunks(), kind, read_times)
            for column, kind in zip(table.columns, self.schema.types, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def timed(self, table: pa.Table) -> tuple[pa.RecordBatch, dict[int, str]]:
        """Return the rows whose values are of the schema's types, and the reasons for leaving out the others."""
        try:
            return self.typed(table, quick_times), {}
        except pa.ArrowInvalid:
            bad = self._misfits(table)
            kept = np.delete(np.arange(table.num_rows), list(bad))
            return self.typed(table.take(pa.array(kept))), bad

    def _misfits(self, table: pa.Table) -> dict[int, str]:
        """Return the rows with a value that is not of its type, and why it is not."""
        bad: dict[int, str] = {}
        every = np.arange(table.num_rows)
        for column, of_type in zip(table.columns, self.schema.types, strict=True):
            for rows, values, kind in _unconverted(every, column.combine_chunks(), of_type):
                doubtful = np.asarray(values.is_valid())
                if pa.types.is_temporal(kind):
                    doubtful &= ~usual_times(values, kind)
                places = np.flatnonzero(doubtful)
                for place, error in many_failures(times_reader(values.take(pa.array(places)), kind), len(places)):
                    bad.setdefault(int(rows[places[place]]), str(error))
        return bad


def named_row(error: pa.ArrowInvalid) -> int | None:
    """Return the row at which the parser stopped, where the error names it."""
    match = _ROW.search(str(error))
    return None if match is None else int(match[1])


def reason(error: pa.ArrowInvalid) -> str:
    """Return why the parser refuses a text of one row."""
    return str(error).removesuffix(" in row 0")


def _unconverted(rows: Offsets, values: pa.Array, kind: pa.DataType) -> Iterator[tuple[Offsets, pa.Array, pa.DataType]]:
    """Yield the parsed values that are not of the schema's type yet, at any depth, with the row of each."""
    if pa.types.is_list(kind):
        yield from _unconverted(rows[np.asarray(pc.list_parent_indices(values))], values.flatten(), kind.value_type)
    elif pa.types.is_struct(kind):
        for number, field in enumerate(kind):
            yield from _unconverted(rows, values.field(number), field.type)
    elif values.type != kind:
        yield rows, values, kind


def _read_as(kind: pa.DataType) -> pa.DataType:
    """Return the type to parse as: text for times, as the parser expects numbers for dates and drops zones.

    Raises:
        ArrowNotImplementedError: for a time of day, at any depth, which has no conversion from text.
    """
    if pa.types.is_time(kind):
        msg = f"no text becomes {kind}"
        raise pa.ArrowNotImplementedError(msg)
    if pa.types.is_temporal(kind):
        return pa.string()
    if pa.types.is_decimal(kind):  # the parser does not detect too many digits, so it gets room for more
        return pa.decimal256(_MOST_DIGITS - kind.scale, kind.scale)
    if pa.types.is_list(kind):
        return pa.list_(_read_as(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(kind.field(i).name, _read_as(kind.field(i).type)) for i in range(kind.num_fields)])
    return kind


def _convert(values: pa.Array, kind: pa.DataType, read_times: ReadTimes) -> pa.Array:
    """Return parsed values as `kind`, at any depth."""
    if values.type == kind:
        return values
    if pa.types.is_list(kind):
        first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
        inner = _convert(values.values[first:last], kind.value_type, read_times)
        return pa.ListArray.from_arrays(pc.subtract(values.offsets, first), inner, type=kind, mask=values.is_null())
    if pa.types.is_struct(kind):
        absent, fields = values.is_null(), list(kind)
        inner = [_convert(values.field(i), field.type, read_times) for i, field in enumerate(fields)]
        if values.null_count:  # writers require a value in a field that is not nullable, even inside a null
            inner = [
                array if field.nullable else pc.if_else(absent, pa.scalar(_anything(field.type), field.type), array)
                for field, array in zip(fields, inner, strict=True)
            ]
        return pa.StructArray.from_arrays(inner, fields=fields, mask=absent)
    return read_times(values, kind) if pa.types.is_timestamp(kind) else pc.cast(values, kind)


def _anything(kind: pa.DataType) -> object:
    """Return any value of a type that is supported for JSON."""
    if pa.types.is_struct(kind):
        return {kind.field(i).name: _anything(kind.field(i).type) for i in range(kind.num_fields)}
    if pa.types.is_list(kind):
        return []
    if pa.types.is_boolean(kind):
        return False
    return 0 if pa.types.is_primitive(kind) or pa.types.is_decimal(kind) else b""
