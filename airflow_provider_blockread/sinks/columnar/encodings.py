"""How the columns of a Parquet file are encoded, chosen from its first row group.

By default every column gets a dictionary, which is dropped once it is too large. Building it takes most of the time of
a write, and pays off only if values repeat. Integers and times that do not repeat are often small as differences.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

#: A raw text column: hardly any value occurs twice, and its minimum and maximum are useless.
RAW = "value"
_FEWEST = 2**14  # rows that a group needs for any conclusion
_SAMPLE = 2**13  # values
_RUNS = 4  # of neighbours in a trial
_DICTIONARY_BYTES = 2**20  # of the largest dictionary that a writer keeps
_PAYS = 0.5  # largest share of distinct values with which a dictionary still saves something
_DELTA = "DELTA_BINARY_PACKED"


def choose_encodings(
    table: pa.Table, compression: str, asked: Mapping[str, str] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the encodings of a file by its first row group; files are hardly ever larger than by default, but faster.

    They are arguments of `pq.ParquetWriter`: the columns that get a dictionary, and the encodings of others than plain.

    Args:
        table: the first row group.
        compression: the codec of the columns.
        asked: requested encodings, by column, which are taken as given.
    """
    dictionary = [name for name, encoding in asked.items() if encoding == "dictionary"]
    others = {name: encoding.upper() for name, encoding in asked.items() if encoding not in {"dictionary", "plain"}}
    for field in table.schema:
        column = table.column(field.name)
        if field.name == RAW or field.name in asked:
            continue
        if table.num_rows < _FEWEST or not _is_plain(field.type) or _repeats(column):
            dictionary.append(field.name)
            continue
        sample = _neighbours(column)
        in_bursts = pc.count_distinct(sample.column(0)).as_py() < _PAYS * len(sample)
        if _has_differences(field.type) and _is_smaller_as_differences(sample, compression, dictionary=in_bursts):
            others[field.name] = _DELTA
        elif in_bursts:
            dictionary.append(field.name)
    return {"use_dictionary": dictionary, "column_encoding": others or None}


def _repeats(column: pa.ChunkedArray) -> bool:
    """Return whether a dictionary of the column stays small, estimated from values all over the column."""
    places = np.linspace(0, len(column) - 1, _SAMPLE).astype(np.int64)
    sample = column.take(pa.array(places)).drop_null()
    if not len(sample):
        return True
    width = max(sample.nbytes / len(sample), 1)
    most = min(_DICTIONARY_BYTES / width, _PAYS * len(column))
    return bool(pc.count_distinct(sample).as_py() < most * -math.expm1(-len(sample) / most))


def _neighbours(column: pa.ChunkedArray) -> pa.Table:
    """Return a sample of the column: some runs of adjacent values, spread over the column."""
    starts = np.linspace(0, len(column) - _SAMPLE // _RUNS, _RUNS).astype(np.int64).tolist()
    chunks = [chunk for start in starts for chunk in column.slice(start, _SAMPLE // _RUNS).chunks]
    return pa.table({RAW: pa.chunked_array(chunks, column.type)})


def _is_plain(kind: pa.DataType) -> bool:
    return _has_differences(kind) or kind in {pa.float32(), pa.float64(), pa.string(), pa.binary(), pa.large_string()}


def _has_differences(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def _is_smaller_as_differences(sample: pa.Table, compression: str, *, dictionary: bool) -> bool:
    """Return whether values take fewer bytes as differences than in plain encoding, or with a dictionary."""
    differences = {"compression": compression, "use_dictionary": False, "column_encoding": {RAW: _DELTA}}
    return _size(sample, differences) < _size(sample, {"compression": compression, "use_dictionary": dictionary})


def _size(sample: pa.Table, options: Mapping[str, Any]) -> int:
    sink = pa.BufferOutputStream()
    pq.write_table(sample, sink, **options)
    size: int = sink.getvalue().size
    return size
