"""JSON lines and csv: rows of columns as text."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from datetime import date, datetime, time
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv

from airflow_provider_blockread.errors import FunctionError, RowError
from airflow_provider_blockread.options import CsvSink
from airflow_provider_blockread.sinks.conform import misnamed, rebuilt, refuse_nul
from airflow_provider_blockread.sinks.text import TextLines

_NEWLINE, _QUOTE = 10, 34
_UNHELD = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_duration)
_FIRST_DAY, _PAST_DAY = ((day - date(1970, 1, 1)).days + more for day, more in ((date.min, 0), (date.max, 1)))
_STRING = pa.large_string()  # large enough for the objects of any batch


class JsonObjects(TextLines):
    """One JSON object per line and row, with all of its columns, even those that are null."""

    has_columns = True

    def __init__(self) -> None:
        super().__init__(b"\n")

    def misfit(self, schema: pa.Schema) -> str:
        """Return the reason why objects cannot have such columns, or an empty string if they can."""
        return misnamed(schema)

    def encode(self, batch: pa.RecordBatch) -> tuple[pa.Buffer | bytes, ...]:
        """Return the rows as JSON lines."""
        parts: list[pa.LargeStringArray | str] = []
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            parts += [f"{',' if parts else '{'}{_ENCODER.encode(name)}:", _json_texts(column)]
        lines = _joined(*parts, "}\n")
        _, offsets, text = lines.buffers()
        return (text.slice(0, int(np.frombuffer(offsets, np.int64)[len(lines)])),)


class CsvRows:
    """Rows as RFC 4180 defines them: texts are quoted, with quotes in them doubled; a null is an empty field."""

    has_columns = True

    def __init__(self, option: CsvSink) -> None:
        self._option = option

    def misfit(self, schema: pa.Schema) -> str:
        """Return the reason why csv cannot hold such rows, or an empty string if it can."""
        if problem := misnamed(schema):
            return problem
        for field in schema:
            if pa.types.is_nested(field.type) or any(is_unheld(field.type) for is_unheld in _UNHELD):
                return f"column {field.name!r} has type {field.type}, which csv does not hold; cast it in the function"
        return ""

    def head(self, schema: pa.Schema) -> bytes:
        """Return the header line with the names of the columns."""
        return self._written(schema.empty_table(), header=True) if self._option.header else b""

    def encode(self, batch: pa.RecordBatch) -> tuple[pa.Buffer | bytes, ...]:
        """Return the rows; a null in a single column becomes `""`, since many readers skip empty lines."""
        for column in batch.columns:
            if (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)) and (row := _far(column)) >= 0:
                raise _no_text(row, "csv")
        refuse_nul(batch, "readers of csv do")  # it ends a value for some of them, and is an error to others
        columns = [_in_utc(column) for column in batch.columns]
        lines = self._written(pa.Table.from_arrays(columns, batch.schema.names), header=False)
        if batch.num_columns == 1 and batch.column(0).null_count:
            if b'"' in lines:  # texts, in which lines may be empty
                rows = pa.table({batch.schema.names[0]: pc.fill_null(batch.column(0).cast(_STRING), "")})
                return (self._written(rows, header=False),)
            lines = b"\n".join(line or b'""' for line in lines[:-1].split(b"\n")) + b"\n"
        return (lines,)

    def count(self, pieces: Iterator[bytes]) -> int | None:
        """Return the number of lines that end outside of quotes."""
        lines, quotes, last = 0, 0, _NEWLINE
        for data in pieces:
            text = np.frombuffer(data, np.uint8)
            outside = (quotes + np.cumsum(text == _QUOTE)) % 2 == 0
            lines += int(np.count_nonzero(outside & (text == _NEWLINE)))
            quotes, last = quotes + int(np.count_nonzero(text == _QUOTE)), int(text[-1]) if len(text) else last
        if quotes % 2 or last != _NEWLINE:
            return None
        return lines - (self._option.header and lines > 0)

    def _written(self, rows: pa.Table, *, header: bool) -> bytes:
        made = pa.BufferOutputStream()
        try:
            pc_csv.write_csv(rows, made, pc_csv.WriteOptions(include_header=header, delimiter=self._option.delimiter))
        except pa.ArrowException as error:
            msg = f"csv cannot hold what the function returned ({error}); cast it in the function"
            raise FunctionError(msg) from error
        return bytes(made.getvalue())


def _in_utc(column: pa.Array) -> pa.Array:
    """Return instants in UTC: Arrow writes the offsets of other zones without their seconds."""
    kind = column.type
    return column.cast(pa.timestamp(kind.unit, "UTC")) if pa.types.is_timestamp(kind) and kind.tz else column


def _json_texts(column: pa.Array) -> pa.LargeStringArray:
    """Return the values of a column as JSON text."""
    column = _in_microseconds(column)
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        texts = column.cast(_STRING)
    elif pa.types.is_floating(kind) and pc.all(pc.is_finite(column)).as_py() is not False:
        texts = pc.replace_substring_regex(column.cast(pa.float64()).cast(_STRING), r"^(-?[0-9]+)$", r"\1.0")
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = _quoted(column.cast(_STRING))
    elif pa.types.is_date32(kind) and _far(column) < 0:
        texts = _joined('"', column.cast(_STRING), '"')
    elif pa.types.is_timestamp(kind) and kind.tz in {None, "UTC"} and _far(column) < 0:
        texts = _instants(column)
    else:
        texts = pa.array(_each(column), _STRING)
    return pc.fill_null(texts, "null")


def _quoted(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return the texts as quoted JSON strings; fast if hardly any text needs escapes."""
    special = pc.fill_null(pc.match_substring_regex(texts, r'["\\\x00-\x1f]'), fill_value=False)
    made = _joined('"', texts, '"')
    if not pc.any(special).as_py():
        return made
    escaped = [_ENCODER.encode(text) for text in texts.filter(special).to_pylist()]
    return pc.replace_with_mask(made, special, pa.array(escaped, _STRING))


def _far(column: pa.Array) -> int:
    """Return the index of the first date or instant outside of the years 1 to 9999, or -1 if there is none.

    Arrow's own `year` is not usable for this: it wraps around after 32767.
    """
    if pa.types.is_timestamp(column.type):
        if column.type.unit == "ns":
            return -1  # nanoseconds reach only from 1677 to 2262
        column = column.view(pa.timestamp(column.type.unit))  # without its zone
    first, past = (pa.scalar(day, pa.date32()).cast(column.type) for day in (_FIRST_DAY, _PAST_DAY))
    far = pc.or_(pc.less(column, first), pc.greater_equal(column, past))
    return int(pc.index(far, value=True).as_py())


def _in_microseconds(column: pa.Array) -> pa.Array:
    """Return times in microseconds, which is what Python's types hold, at any depth; other columns unchanged.

    Raises:
        RowError: when a time has a fraction of a microsecond.
    """
    kind = rebuilt(column.type, _coarser)
    if kind == column.type:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        rows = [column.take([row]) for row in range(len(column))]  # Arrow also looks at what a slice leaves out
    for row, value in enumerate(rows):
        try:
            rows[row] = value.cast(kind)
        except pa.ArrowInvalid as error:
            msg = "the row holds a time in nanoseconds: JSON lines hold microseconds; cast it in the function"
            raise RowError(msg, row) from error
    return pa.concat_arrays(rows)


def _coarser(kind: pa.DataType) -> pa.DataType:
    """Return a type with microseconds in place of nanoseconds."""
    if pa.types.is_time64(kind):
        return pa.time64("us")
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz) if kind.unit == "ns" else kind
    return kind


def _no_text(row: int, what: str) -> RowError:
    msg = f"the row holds a time outside of the years 1 to 9999: {what} has no text for it; replace it in a function"
    return RowError(msg, row)


def _instants(column: pa.TimestampArray) -> pa.LargeStringArray:
    """Return instants as `datetime.isoformat` writes them: in microseconds, but without a fraction that is zero."""
    texts = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.timestamp("us")).cast(_STRING)
    texts = pc.replace_substring_regex(pc.utf8_replace_slice(texts, 10, 11, "T"), r"\.000000$", "")
    return _joined('"', texts, '"' if column.type.tz is None else '+00:00"')


def _joined(*parts: pa.LargeStringArray | str) -> pa.LargeStringArray:
    """Return the texts concatenated row by row; null if one of them is null."""
    texts = [pa.scalar(part, _STRING) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(*texts, pa.scalar("", _STRING))


def _each(column: pa.Array) -> Iterator[str | None]:
    for row, value in enumerate(column):
        try:
            yield _ENCODER.encode(value.as_py()) if value.is_valid else None
        except OverflowError as error:
            raise _no_text(row, "JSON") from error
        except ValueError as error:
            msg = f"JSON has no number for a value of the row ({error}); replace NaN and infinity in a function"
            raise RowError(msg, row) from error


def _text(value: object) -> object:
    """Return a value of a type that JSON lacks as text: instants and dates in ISO 8601, bytes in base64."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    msg = f"{type(value).__name__} is not a JSON type; cast it in the function"
    raise FunctionError(msg)


_ENCODER = json.JSONEncoder(default=_text, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
