"""Decoding of CSV records into the columns of a schema.

Arrow's parser splits a whole chunk into fields as bytes; each column is then converted to its type at once. A record
with another number of fields, or with a value that does not fit, is bad. The result for a record does not depend on its
neighbours: fields are those of Python's `csv`, and each value is converted by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from unicodedata import normalize

import numpy as np
import pyarrow as pa

from airflow_provider_blockread.errors import OptionsError, RecordError
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.columns.schema import parse_schema, quoted_name
from airflow_provider_blockread.records.columns.times import check_times, parsed_as
from airflow_provider_blockread.records.columns.values import typed
from airflow_provider_blockread.records.csv.fields import dialect_of, names_by_place
from airflow_provider_blockread.records.csv.rescue import RescuingCsvDecoder
from airflow_provider_blockread.records.csv.split import RowSplitter, SplitRows
from airflow_provider_blockread.records.model import BadRecord, Chunk, Decoded, Decoder

_SHOWN = 40  # characters of a value in a message
_SHOWN_NAMES = 200  # characters of a list of names


def csv_decoder(
    option: Csv, header: tuple[str, ...] | None, file: str = "", names: tuple[str, ...] | None = None
) -> Decoder:
    """Return the decoder of files with this header (None: without one); `file` is named in errors.

    Of the schema's columns it decodes those in `names`, or all; fields of the others are counted, not checked. One that
    rescues decodes all.

    Raises:
        OptionsError: when the option has no schema, or one that is malformed or cannot be read from csv.
        RecordError: when the header does not match the schema.
    """
    try:
        decoder = _decoder(option, header)
        return decoder.only(names) if names is not None and isinstance(decoder, CsvDecoder) else decoder
    except RecordError as error:
        msg = f"{file}: {error}" if file else str(error)
        raise RecordError(msg) from error


@lru_cache(maxsize=64)
def _decoder(option: Csv, header: tuple[str, ...] | None) -> CsvDecoder | RescuingCsvDecoder:
    if option.schema is None:
        msg = (
            'csv: columns are not known yet; set schema="id long, msg string", or let a window infer one from its files'
        )
        raise OptionsError(msg)
    schema = parse_schema(option.schema)
    _check_types(schema)
    check_times(schema)
    names = tuple(schema.names) if header is None else _names(option, header, schema)

    def make(schema: pa.Schema, names: Sequence[str]) -> CsvDecoder:
        places = {name: place for place, name in enumerate(names)}
        return CsvDecoder(option, schema, tuple(map(places.get, schema.names)), len(names))

    if not option.rescue:
        return make(schema, names)
    return RescuingCsvDecoder(make, schema, names=names, dialect=dialect_of(option), null=option.null)


def _names(option: Csv, header: tuple[str, ...], schema: pa.Schema) -> tuple[str, ...]:
    """Return the names of a header's columns, which fit the schema."""
    by_name = option.columns != "equal"
    names = column_names(header, used=schema.names if by_name and not option.rescue else None)
    alike = _alike(names, schema.names)
    if (not set(names) & set(schema.names) or alike) if by_name else names != tuple(schema.names):
        raise _unlike(names, schema, option.columns, alike)
    unknown = next((name for name in names if name not in schema.names), None)
    if option.columns == "known_names" and unknown is not None and not option.rescue:
        msg = (
            f"the header has column {unknown!r}, which is none of {shown_names(schema.names)}; declare a schema with"
            " it, or one without it and columns='by_name', which leaves it out; set rescue=True to keep it as it is, or"
            " exclude the file with `blockread windows exclude`"
        )
        raise RecordError(msg)
    return names


def _alike(names: Iterable[str], wanted: Sequence[str]) -> tuple[str, str] | None:
    """Return the first of the names, and a wanted one that is not among them, which people may take for one."""
    others = {_seen(name): name for name in names if name not in wanted}
    missing = set(wanted).difference(names)
    pairs = ((others.get(_seen(name)), name) for name in wanted if name in missing)
    return next(((name, other) for name, other in pairs if name is not None), None)


def _seen(name: str) -> str:
    """Return a name without its case, blanks around, byte order mark and Unicode normal form."""
    return normalize("NFC", name.replace("\ufeff", "")).strip().casefold()


def column_names(header: tuple[str, ...], used: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the names of a header's columns; blank ones are `_c0`, `_c1`... by position, if no other column is.

    Raises:
        RecordError: when a name is duplicated, of those that are `used` or of all.
    """
    blank = [place for place, name in enumerate(header) if not name.strip()]
    made = dict(zip(blank, names_by_place(blank, [name for name in header if name.strip()]), strict=True))
    names = tuple(made.get(place, name) for place, name in enumerate(header))
    twice = [name for name, count in Counter(names).items() if count > 1 and (used is None or name in used)]
    if twice:
        msg = (
            f"the header has column {twice[0]!r} twice; rename one of them in the file, leave it out of the schema and"
            " set columns='by_name', or exclude the file with `blockread windows exclude`"
        )
        raise RecordError(msg)
    return names


def shown_names(names: Iterable[str]) -> str:
    """Return the first column names for a message."""
    return ", ".join(map(repr, islice(names, _SHOWN_NAMES)))[:_SHOWN_NAMES]


def _unlike(names: tuple[str, ...], schema: pa.Schema, columns: str, alike: tuple[str, str] | None) -> RecordError:
    if alike:
        return RecordError(
            f"the header has column {alike[0]!r} where the schema has {alike[1]!r}; names must be equal, so write"
            f" {quoted_name(alike[0])} in the schema, or exclude the file with `blockread windows exclude`"
        )
    by_name = ", set columns='by_name'" if columns == "equal" and set(names) & set(schema.names) else ""
    utf_16 = ", set encoding='utf-16-le' or 'utf-16-be' if the file is UTF-16" if "\0" in "".join(names) else ""
    return RecordError(
        f"the header has columns {shown_names(names)} where the schema has {shown_names(schema.names)}; correct the"
        f" schema{by_name}{utf_16}, or exclude the file with `blockread windows exclude`"
    )


def _check_types(schema: pa.Schema) -> None:
    for kind, name in dict(zip(reversed(schema.types), reversed(schema.names), strict=True)).items():
        try:
            typed(pa.array([b"x"]), kind, valid=True)
        except pa.ArrowNotImplementedError as error:
            msg = f"csv: column {name!r} cannot be of type {kind}; choose another type, such as string"
            raise OptionsError(msg) from error


class CsvDecoder:
    """Decodes each CSV record into one row of a schema.

    An unquoted field that is empty, or equals the option's `null`, is null; a quoted empty one is an empty string in a
    text column, and null in any other. Blanks around a value are ignored, except in text columns.
    """

    def __init__(self, option: Csv, schema: pa.Schema, places: tuple[int | None, ...], width: int) -> None:
        """Take the field of each column (None: no field, the column is null), and the number of a record's fields."""
        self.schema = schema
        self._option, self._places, self._width = option, places, width
        self._expect_bad = False  # the previous chunk had bad records, so this one may
        self._as_bytes: dict[int, pa.DataType] = {}  # fields in which there were values that did not fit
        self._times: dict[int, pa.DataType] | None = None  # fields, as Arrow's csv parser can make them
        self._splitter = RowSplitter(dialect_of(option), width, option.null)
        self._quick = {
            place: field.type if _is_direct(field.type) else pa.binary()
            for field, place in zip(schema, places, strict=True)
            if place is not None
        }

    def only(self, names: tuple[str, ...]) -> CsvDecoder:
        """Return the decoder to some of the columns, in the order of their names."""
        if names == tuple(self.schema.names):
            return self
        places = tuple(self._places[self.schema.get_field_index(name)] for name in names)
        schema = pa.schema([self.schema.field(name) for name in names])
        return CsvDecoder(self._option, schema, places, self._width)

    def decode(self, chunk: Chunk) -> Decoded:
        """Return the records as rows; one of another width, or with a value that does not fit, is bad."""
        if not len(chunk.ends):
            return Decoded(batch=pa.RecordBatch.from_pylist([], schema=self.schema))
        if not self._expect_bad and (quick := self._decode_quickly(chunk)):
            return quick
        rows = self._splitter.split(chunk, self._quick | self._as_bytes)
        reasons = dict(rows.bad)
        columns = [self._column(rows, number, reasons) for number in range(len(self.schema))]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        if reasons:
            batch = batch.filter(pa.array(~np.isin(rows.indices, list(reasons))))
        bad = tuple(BadRecord(index=index, reason=reasons[index]) for index in sorted(reasons))
        self._expect_bad = bool(bad)
        return Decoded(batch=batch, bad=bad)

    def _decode_quickly(self, chunk: Chunk) -> Decoded | None:
        """Return the rows of a chunk that Arrow's parser converts without any misfit, or None."""
        fields = self._split_quickly(chunk)
        if fields is None:
            return None
        if self._times is None:
            self._times = dict(self._types_of_times(fields))
        columns = []
        for field, place in zip(self.schema, self._places, strict=True):
            array = fields[place] if place is not None else pa.nulls(len(chunk.ends), field.type)
            if pa.types.is_timestamp(array.type):
                array = array.cast(field.type)
            elif array.type != field.type:
                array, misfits = typed(array, field.type, valid=True)
                if len(misfits):
                    return None
            if array.null_count and not field.nullable:
                return None
            columns.append(array)
        return Decoded(batch=pa.RecordBatch.from_arrays(columns, schema=self.schema))

    def _split_quickly(self, chunk: Chunk) -> dict[int, pa.Array] | None:
        """Return the fields by their place, times as such if they are written as those of the first chunk, or None."""
        if self._times and (fields := self._splitter.split_typed(chunk, self._quick | self._times)):
            return fields
        fields = self._splitter.split_typed(chunk, self._quick)
        if fields is not None and self._times:
            self._times = {}  # each chunk would be parsed twice
        return fields

    def _types_of_times(self, fields: Mapping[int, pa.Array]) -> Iterator[tuple[int, pa.DataType]]:
        for field, place in zip(self.schema, self._places, strict=True):
            if place is not None and pa.types.is_timestamp(field.type):
                kind = parsed_as(fields[place].cast(pa.string()), field.type)
                if kind is not None:
                    yield place, kind

    def _column(self, rows: SplitRows, number: int, reasons: dict[int, str]) -> pa.Array:
        """Return a column's values, null where one does not fit, and add to `reasons` why."""
        field, place = self.schema.field(number), self._places[number]
        if place is None:
            return pa.nulls(len(rows.indices), field.type)
        values = rows.columns[place]
        if values.type == field.type:
            array = values
        else:
            array, misfits = typed(values, field.type, valid=rows.valid, expect_misfits=place in self._as_bytes)
            self._as_bytes |= {place: pa.binary()} if len(misfits) else {}
            wanted = "UTF-8" if pa.types.is_string(field.type) else f"of type {field.type}"
            for index, value in zip(rows.indices[misfits], values.take(pa.array(misfits)).to_pylist(), strict=True):
                shown = value[:_SHOWN].decode("utf-8", "backslashreplace")
                reasons.setdefault(int(index), f"column {field.name!r} is not {wanted}: {shown!r}")
        if not field.nullable and array.null_count:
            for index in rows.indices[np.asarray(array.is_null())].tolist():
                reasons.setdefault(index, f"column {field.name!r} is null, but the schema says not null")
        return array


def _is_direct(kind: pa.DataType) -> bool:
    """Return whether Arrow's CSV parser converts a field's text as a cast does; it does not support half floats."""
    return bool(pa.types.is_integer(kind) or kind in {pa.float32(), pa.float64(), pa.string()})
