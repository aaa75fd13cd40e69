"""The columns of csv files without a schema: names from their headers, types from a sample of their records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import RecordError
from airflow_provider_blockread.options import Csv
from airflow_provider_blockread.records.csv_decode import column_names, shown_names
from airflow_provider_blockread.records.csv_fields import Dialect, dialect_of
from airflow_provider_blockread.records.csv_split import RowSplitter
from airflow_provider_blockread.records.encodings import EncodedFormat
from airflow_provider_blockread.records.format import RecordFormat
from airflow_provider_blockread.records.schema import parse_schema, schema_text
from airflow_provider_blockread.records.source import ByteSource
from airflow_provider_blockread.records.text_values import convert, plain, typed
from airflow_provider_blockread.records.walking import Chunk, WalkLimits, walk_block

#: Types in the order in which they are tried, and what texts of each look like.
_KINDS = tuple(parse_schema("a long, b double, c boolean, d date, e timestamp_ntz, f timestamp").types)
#: What texts of each must look like, on top of being such values.
_LOOKS = dict.fromkeys(_KINDS, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T].*)?$") | {
    pa.int64(): "^-?[0-9]+$",
    pa.float64(): rf"^(?:{plain(pa.float64())}|NaN|nan|[-+]?(?:inf|Infinity))$",
    pa.bool_(): "^(?i:true|false)$",
}
#: Codes and keys that a number would not give back: leading zeros, more digits than a double holds.
_NO_NUMBERS = {pa.int64(): "^-?0[0-9]", pa.float64(): "^[-+]?(?:0[0-9]|[0-9]{16,}$)"}
_WIDTH_ROWS = 100  # that tell how many columns a file without a header has


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The first records of a file, in UTF-8, and its header."""

    header: tuple[str, ...] | None
    chunks: tuple[Chunk, ...]

    @property
    def is_blank(self) -> bool:
        """Whether there is neither a header nor a row that is not blank, so that nothing is said of columns."""
        return self.header is None and all((chunk.begins == chunk.ends).all() for chunk in self.chunks)


def sample_file(source: ByteSource, fmt: RecordFormat, size: int) -> Sample:
    """Return the records that start in the first `size` bytes of a file's data; `fmt` is bound to the file.

    Raises:
        RecordError: when a record is longer than `max_record_bytes`.
    """
    limits = WalkLimits(max_record_bytes=source.max_record_bytes)
    chunks = walk_block(source, fmt, source.data_offset, source.data_offset + size, limits)
    if isinstance(fmt, EncodedFormat):
        chunks, fmt = map(fmt.in_utf8, chunks), fmt.inner
    return Sample(header=getattr(fmt, "header", None), chunks=tuple(chunk for chunk in chunks if len(chunk.ends)))


def infer_schema(option: Csv, samples: Iterable[Sample]) -> str:
    """Return the schema of the sampled files as text.

    Names come from the headers, or are `_c0`, `_c1`... A column is long, double, boolean, date, timestamp_ntz or
    timestamp, the first of these that all its values in the sample are, else string. Numbers that would lose something
    (`007`, 16 digits and more beside fractions) stay strings, and so does a column without any value.

    Raises:
        RecordError: when the headers of the files do not agree.
    """
    columns: dict[str, list[pa.DataType] | None] = {}  # types that are still possible; None: no value was seen yet
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
            for name, values in zip(names, _values(option, chunk, len(names)), strict=True):
                columns[name] = _still_possible(columns[name], values)
    columns = columns or {"_c0": None}  # files without any row have the columns of one
    return schema_text(pa.schema([(name, kinds[0] if kinds else pa.string()) for name, kinds in columns.items()]))


def _names(option: Csv, sample: Sample) -> tuple[str, ...]:
    if sample.header is not None:
        return column_names(sample.header)
    return tuple(f"_c{place}" for place in range(_width(sample.chunks, dialect_of(option))))


def _width(chunks: tuple[Chunk, ...], dialect: Dialect) -> int:
    """Return how many fields most of the first rows have; of two numbers that are as frequent, the earlier one."""
    records = (chunk.record(int(index)) for chunk in chunks for index in np.flatnonzero(chunk.ends > chunk.begins))
    rows = (dialect.fields(dialect.decode(record)) for record in islice(records, _WIDTH_ROWS))
    return Counter(sum(1 for _ in row) for row in rows).most_common(1)[0][0]


def _values(option: Csv, chunk: Chunk, width: int) -> Iterator[pa.StringArray]:
    """Yield each column's values in the good records, without nulls, blanks around them cut off."""
    rows = RowSplitter(dialect_of(option), width, option.null).split(chunk, list(range(width)))
    good = pa.array(~np.isin(rows.indices, list(rows.bad)))
    for place in range(width):
        texts, _ = typed(rows.columns[place].filter(good), pa.string(), valid=rows.valid)
        texts = pc.utf8_trim(texts.drop_null(), " \t")
        yield texts.filter(pc.not_equal(texts, ""))


def _still_possible(kinds: list[pa.DataType] | None, values: pa.StringArray) -> list[pa.DataType] | None:
    if not len(values):
        return kinds
    return [kind for kind in (_KINDS if kinds is None else kinds) if _fits(values, kind)]


def _fits(values: pa.StringArray, kind: pa.DataType) -> bool:
    if not pc.all(pc.match_substring_regex(values, _LOOKS[kind])).as_py():
        return False
    if kind in _NO_NUMBERS and pc.any(pc.match_substring_regex(values, _NO_NUMBERS[kind])).as_py():
        return False
    return not len(convert(values, kind)[1])
