"""The columns of CSV files without a schema: names from their headers, types from a sample of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.columns.decimals import NUMBER
from airflow_provider_blockread.records.columns.schema import parse_schema, schema_text
from airflow_provider_blockread.records.columns.values import convert, typed
from airflow_provider_blockread.records.csv.decode import column_names, shown_names
from airflow_provider_blockread.records.csv.fields import Dialect, dialect_of
from airflow_provider_blockread.records.csv.split import RowSplitter
from airflow_provider_blockread.records.io.source import too_wide
from airflow_provider_blockread.records.model import Chunk, Mask, Offsets
from airflow_provider_blockread.records.sampling import Sample

#: Types in the order in which they are tried.
_KINDS = tuple(parse_schema("a long, b double, c boolean, d date, e timestamp_ntz, f timestamp").types)
#: Patterns that texts of each type must match, besides being valid values.
_PATTERNS = dict.fromkeys(_KINDS, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T].*)?$") | {
    pa.date32(): "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    pa.int64(): "^-?[0-9]+$",
    pa.float64(): rf"^(?:{NUMBER}|NaN|nan|[-+]?(?:inf|Infinity))$",
    pa.bool_(): "^(?i:true|false)$",
}
#: Codes and keys that a number would not preserve: leading zeros, a plus as in telephone numbers, more digits than a
#: double holds, and digits of a hash that are zero as a number (`0e4567`).
_NO_NUMBERS = {pa.int64(): "^-?0[0-9]", pa.float64(): r"^(?:\+|-?0[eE]?[0-9]|-?[0-9]{16,}$)"}
_NONZERO = r"^-?[0.]*[1-9]"
_WIDTH_ROWS = 100  # from which the number of columns of a file without a header is determined


def infer_schema(option: Csv, samples: Iterable[Sample]) -> str:
    """Return the schema of the sampled files as text.

    Names come from the headers, or are `_c0`, `_c1`... A column has the first of the types long, double, boolean, date,
    timestamp_ntz and timestamp that fits all its values in the sample, else string. Numbers that would lose information
    (`007`, `+41791234567`, `12e4567`, or an integer of 16 or more digits among fractions) are strings, and so is a
    column without values.

    Raises:
        RecordError: when the headers of the files differ.
    """
    columns: dict[str, Mask | None] = {}  # which types are still possible; None: no value yet
    first: tuple[str, ...] = ()
    for sample in samples:
        if sample.is_blank:
            continue
        names = first if first and sample.header is None else _names(option, sample)
        first = first or names
        if option.columns == "equal" and names != first:
            msg = (
                f"the headers of the files differ: {shown_names(first)} and {shown_names(names)}; set"
                " columns='by_name', or exclude one of the files with `blockread windows exclude`"
            )
            raise RecordError(msg)
        for name in names:
            columns.setdefault(name, None)
        for chunk in sample.chunks:
            for name, found in zip(names, _possible(*_values(option, chunk, len(names)), len(names)), strict=True):
                before = columns[name]
                columns[name] = found if before is None else before if found is None else before & found
    columns = columns or {"_c0": None}  # files without any row have one column
    return schema_text(pa.schema([(name, _first_kind(possible)) for name, possible in columns.items()]))


def _first_kind(possible: Mask | None) -> pa.DataType:
    return pa.string() if possible is None or not possible.any() else _KINDS[int(possible.argmax())]


def _names(option: Csv, sample: Sample) -> tuple[str, ...]:
    if sample.header is not None:
        return column_names(sample.header)
    return tuple(f"_c{place}" for place in range(_width(sample, dialect_of(option))))


def _width(sample: Sample, dialect: Dialect) -> int:
    """Return the most frequent number of fields among the first rows; of equally frequent ones, the first."""
    places = ((chunk, int(index)) for chunk in sample.chunks for index in np.flatnonzero(chunk.ends > chunk.begins))
    widths: Counter[int] = Counter()
    for chunk, index in islice(places, _WIDTH_ROWS):
        width = sum(1 for _ in dialect.fields(dialect.decode(chunk.record(index))))
        if width > sample.source.max_columns:
            at = chunk.file_offset(int(chunk.begins[index])) * sample.source.unit_bytes
            raise too_wide(sample.source.name, "row", at, width, sample.source.max_columns)
        widths[width] += 1
    return widths.most_common(1)[0][0]


def _values(option: Csv, chunk: Chunk, width: int) -> tuple[pa.StringArray, Offsets]:
    """Return the values of all columns in the good records, trimmed, and the column of each.

    Nulls and blanks are left out. All columns are in one array, so that the cost of each call is paid once.
    """
    rows = RowSplitter(dialect_of(option), width, option.null).split(chunk, dict.fromkeys(range(width), pa.binary()))
    good = np.tile(~np.isin(rows.indices, list(rows.bad)), width)
    columns = np.repeat(np.arange(width), len(rows.indices))[good]
    fields = pa.concat_arrays([rows.columns[place] for place in range(width)]).filter(pa.array(good))
    texts = pc.utf8_trim(typed(fields, pa.string(), valid=rows.valid)[0], " \t")
    present = np.asarray(pc.fill_null(pc.not_equal(texts, ""), fill_value=False))
    return texts.filter(pa.array(present)), columns[present]


def _possible(values: pa.StringArray, columns: Offsets, width: int) -> Iterator[Mask | None]:
    """Yield for each column which types fit all its values; None where it has no value."""
    kinds = np.ones((width, len(_KINDS)), np.bool_)
    for number, kind in enumerate(_KINDS):
        kinds[columns[_unlike(values, kind)], number] = False
        left = kinds[columns, number]
        kinds[columns[left][_misfits(values.filter(pa.array(left)), kind)], number] = False
    seen = np.bincount(columns, minlength=width) > 0
    for column in range(width):
        yield kinds[column] if seen[column] else None


def _misfits(values: pa.StringArray, kind: pa.DataType) -> Offsets:
    """Return the indices of values that are not of a type, or so large or small that a double is infinite or zero."""
    array, misfits = convert(values, kind)
    if not pa.types.is_floating(kind):
        return misfits
    numbers = np.asarray(array.fill_null(1))
    extreme = np.flatnonzero(np.isinf(numbers) | (numbers == 0))
    lost = pc.match_substring_regex(values.take(pa.array(extreme)), _NONZERO)
    return np.union1d(misfits, extreme[np.asarray(lost)])


def _unlike(values: pa.StringArray, kind: pa.DataType) -> Mask:
    """Return which values do not have the form of a type, or would lose information in it."""
    unlike = ~np.asarray(pc.match_substring_regex(values, _PATTERNS[kind]))
    if kind in _NO_NUMBERS:
        unlike |= np.asarray(pc.match_substring_regex(values, _NO_NUMBERS[kind]))
    return unlike
