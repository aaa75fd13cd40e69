"""Iceberg's partition transforms of Arrow arrays, as its specification defines them, since tasks lack its library."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import MAXYEAR, MINYEAR
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import RowError
from airflow_provider_blockread.options.partitions import Partition

_UNITS: Mapping[str, Literal["Y", "M", "D", "h"]] = {"year": "Y", "month": "M", "day": "D", "hour": "h"}  # of numpy
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

Longs = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint32]
_TEXTS = (pa.types.is_string, pa.types.is_large_string)
_TIMES = (pa.types.is_date32, pa.types.is_timestamp)
_KINDS: Mapping[str, tuple[tuple[Callable[[pa.DataType], bool], ...], str]] = {
    "identity": (
        (*_TEXTS, pa.types.is_boolean, pa.types.is_signed_integer, pa.types.is_date32),
        "text, signed integers, booleans or dates",
    ),
    "bucket": ((*_TEXTS, pa.types.is_signed_integer, *_TIMES), "buckets of text, signed integers, dates or timestamps"),
    "truncate": ((*_TEXTS, pa.types.is_signed_integer), "the beginning of text, or truncated signed integers"),
    "hour": ((pa.types.is_timestamp,), "the hour of timestamps"),
} | {name: (_TIMES, f"the {name} of dates or timestamps") for name in ("year", "month", "day")}


def misfit(field: pa.Field, partition: Partition) -> str:
    """Return the reason why the values of a column cannot be partitioned so; empty if they can."""
    kinds, words = _KINDS[partition.transform]
    fits = any(holds(field.type) for holds in kinds)
    return "" if fits else f"column {field.name!r} is {field.type}; partition by {words}"


def transformed(column: pa.Array, partition: Partition) -> pa.Array:
    """Return the partition value of each value of a column; null for null.

    Returns:
        The column itself, or truncated values of its type, or int64 numbers of buckets, or of years, months, days or
        hours since 1970.

    Raises:
        RowError: when the type cannot hold a truncated value.
    """
    if partition.is_plain:
        return column
    encoded = column.dictionary_encode()  # to transform each distinct value once
    values = encoded.dictionary
    if partition.transform == "truncate":
        found = _truncated(column, values, partition)
    elif partition.transform == "bucket":
        numbers = (_hashed(values) & 0x7FFF_FFFF).astype(np.int64) % partition.width
        found = pa.array(numbers)
    else:
        found = pa.array(_since_1970(values, partition.transform))
    return found.take(encoded.indices)


def as_text(partition: Partition, number: int) -> str:
    """Return the number of a year, month, day, hour or bucket as Iceberg writes it: `2026-01`, `2026-01-31-23`.

    Raises:
        OverflowError: when the time is outside of the years 1 to 9999.
    """
    unit = _UNITS.get(partition.transform)
    if unit is None:
        return str(number)
    time = np.datetime64(number, unit)
    year = 1970 + int(time.astype("datetime64[Y]").astype(np.int64))
    if not MINYEAR <= year <= MAXYEAR:
        msg = f"year {year} is out of range"
        raise OverflowError(msg)
    return str(time).replace("T", "-")


def as_number(partition: Partition, text: str) -> int:
    """Return the number for a text of `as_text`."""
    unit = _UNITS.get(partition.transform)
    if unit is None:
        return int(text)
    return int(np.datetime64(text[:10] + text[10:].replace("-", "T"), unit).astype(np.int64))


def _since_1970(values: pa.Array, transform: str) -> Longs:
    numbers, unit = _longs(values), "D"
    if pa.types.is_timestamp(values.type):  # numpy's own rounding wraps around at the least number of nanoseconds
        numbers, unit = numbers // _PER_SECOND[values.type.unit], "s"
    found: Longs = numbers.view(f"datetime64[{unit}]").astype(f"datetime64[{_UNITS[transform]}]").view(np.int64)
    return found


def _truncated(column: pa.Array, values: pa.Array, partition: Partition) -> pa.Array:
    if not pa.types.is_integer(values.type):
        return pc.utf8_slice_codeunits(values, 0, partition.width)
    numbers = _longs(values)
    rests = numbers % partition.width
    least = np.iinfo(values.type.to_pandas_dtype()).min
    if len(under := np.flatnonzero(numbers < least + rests)):
        value = values[int(under[0])]
        msg = (
            f"column {partition.column!r} holds {value}, and its type cannot hold the next lower multiple of"
            f" {partition.width}; replace it in a function"
        )
        raise RowError(msg, pc.index(column, value).as_py())
    return pa.array(numbers - rests).cast(values.type)


def _longs(values: pa.Array) -> Longs:
    """Return the int64 values of integers, dates or instants, without a copy if possible."""
    numbers = values.cast(pa.int32()) if pa.types.is_date32(values.type) else values
    found: Longs = np.asarray(numbers.cast(pa.int64()))
    return found


def _hashed(values: pa.Array) -> Words:
    """Return the 32-bit Murmur3 hashes (seed 0) of values, in the byte form that Iceberg specifies for hashing."""
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        texts = values.cast(pa.large_binary())
        _, offsets, data = texts.buffers()
        places = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
        return _murmur(np.frombuffer(data or b"", np.uint8), places[:-1], np.diff(places))
    numbers = _longs(values)
    if pa.types.is_timestamp(values.type):  # in microseconds
        per_second = _PER_SECOND[values.type.unit]
        numbers = numbers * (10**6 // per_second) if per_second <= 10**6 else numbers // (per_second // 10**6)
    size = np.full(len(numbers), 8, np.int64)
    return _murmur(numbers.astype("<i8").view(np.uint8), np.arange(len(numbers), dtype=np.int64) * 8, size)


def _murmur(data: npt.NDArray[np.uint8], starts: Longs, sizes: Longs) -> Words:
    """Return the hash of each slice of the data, computed word by word for all slices at once."""
    hashes = np.zeros(len(starts), np.uint32)
    for word in range(int(sizes.max(initial=0)) // 4):
        which = np.flatnonzero(sizes >= 4 * (word + 1))
        mixed = _turned(hashes[which] ^ _mixed(_word(data, starts[which] + 4 * word, 4)), 13)
        hashes[which] = mixed * np.uint32(5) + np.uint32(0xE6546B64)
    for rest in (1, 2, 3):
        which = np.flatnonzero(sizes % 4 == rest)
        hashes[which] ^= _mixed(_word(data, starts[which] + sizes[which] - rest, rest))
    hashes ^= sizes.astype(np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        hashes = (hashes ^ (hashes >> np.uint32(shift))) * np.uint32(factor)
    return hashes ^ (hashes >> np.uint32(16))


def _word(data: npt.NDArray[np.uint8], starts: Longs, size: int) -> Words:
    words = np.zeros(len(starts), np.uint32)
    for place in range(size if len(starts) else 0):
        words |= data[starts + place].astype(np.uint32) << np.uint32(8 * place)
    return words


def _mixed(words: Words) -> Words:
    return _turned(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)


def _turned(words: Words, by: int) -> Words:
    return (words << np.uint32(by)) | (words >> np.uint32(32 - by))
