"""Checks of single objects against a schema, for chunks that Arrow's parser refused.

The parser may still refuse an object that passes; it refuses every object that does not.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.records.columns.decimals import fits_decimal
from airflow_provider_blockread.records.model import Mask, Offsets

Fits = Callable[[object], bool]

_NO_NUMBER = r"[:,\[\s](?:-?Inf|-NaN)[,\]}\s]"  # what Arrow's parser wrongly reads as a number
_NAME_OF_NONE = re.compile(rb"-?Inf(?!inity)|-NaN")
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_FEW = 100  # fields whose names are part of a pattern; with more of them, it matches any field
_TOO_LARGE = {16: 65520, 32: 2**128 - 2**103, 64: 2**1024 - 2**970}  # infinite when rounded to a float of so many bits


class Named(float):
    """`NaN`, `Infinity` or `-Infinity` as literals, as opposed to a number that is too large."""


class Written(float):
    """A number with its text."""

    text: str

    @classmethod
    def of(cls, text: str, value: float) -> Self:
        """Return the number `value`, which is written so."""
        number = cls(value)
        number.text = text
        return number


def object_check(schema: pa.Schema) -> Callable[[bytes], str | None]:
    """Return a function that returns why a record does not fit the schema, or None where it may fit.

    Of a record that it cannot parse, the function returns an empty string.
    """
    fields = [(field.name, str(field.type), fits(field.type)) for field in schema]

    def check(record: bytes) -> str | None:
        try:
            value = json.loads(record.decode(), parse_float=_number, parse_constant=Named)
        except (ValueError, RecursionError):
            return ""
        for name, kind, may_be in fields:
            if not may_be(value.get(name)):
                return f"field {name!r} is not of type {kind}"
        return None

    return check


def fits(kind: pa.DataType) -> Fits:
    """Return a function that returns whether a value that Python's parser reads may be of a type."""
    if pa.types.is_list(kind):
        inner = fits(kind.value_type)
        return lambda value: value is None or (isinstance(value, list) and all(map(inner, value)))
    if pa.types.is_struct(kind):
        members = [(kind.field(i).name, fits(kind.field(i).type)) for i in range(kind.num_fields)]
        return lambda value: (
            value is None or (isinstance(value, dict) and all(may_be(value.get(name)) for name, may_be in members))
        )
    if pa.types.is_integer(kind):
        least, bound = 0, 2**kind.bit_width
        if pa.types.is_signed_integer(kind):
            least, bound = -bound // 2, bound // 2
        return lambda value: value is None or (type(value) is int and least <= value < bound)
    if pa.types.is_floating(kind):
        return partial(_is_float, _TOO_LARGE[kind.bit_width])
    if pa.types.is_decimal(kind):
        return partial(_is_decimal, kind)
    type_of = bool if pa.types.is_boolean(kind) else str
    return lambda value: value is None or type(value) is type_of


def _number(text: str) -> Written:
    """Return a number to compare with bounds: a text just below the bound of a float is not rounded up to it."""
    value = float(text)
    if abs(value) == _TOO_LARGE[32] and Decimal(text).copy_abs() < _TOO_LARGE[32]:
        value = math.nextafter(value, 0)
    return Written.of(text, value)


def _is_decimal(kind: pa.DataType, value: object) -> bool:
    if type(value) not in {int, str, Written}:
        return value is None
    text = value.text if isinstance(value, Written) else str(value)
    return fits_decimal(text.replace("+-", "-"), kind)  # as Arrow reads `1e+-2`


def _is_float(too_large: int, value: object) -> bool:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return -too_large < value < too_large or isinstance(value, Named)
    return value is None


def invalid_numbers(text: bytes, values: Callable[[], pa.BinaryArray]) -> list[int]:
    """Return the records with `Inf`, `-Inf` or `-NaN` outside of strings, at any depth.

    Arrow's parser reads them as numbers; only `NaN`, `Infinity` and `-Infinity` are valid.
    """
    if b"Inf" not in text and b"-NaN" not in text:
        return []
    records = values()
    suspects = np.flatnonzero(np.asarray(pc.match_substring_regex(records, _NO_NUMBER))).tolist()
    return [index for index in suspects if _NAME_OF_NONE.search(_STRING.sub(b"", records[index].as_py()))]


def columns_of_floats(schema: pa.Schema) -> list[int]:
    """Return the indices of the columns that contain floats, at any depth."""
    return [place for place, field in enumerate(schema) if _contains(field, lambda one: pa.types.is_floating(one.type))]


def _contains(field: pa.Field, is_sought: Callable[[pa.Field], bool]) -> bool:
    """Return whether a field or a part of its type is sought, at any depth."""
    inner = (field.type.field(number) for number in range(field.type.num_fields))
    return is_sought(field) or any(_contains(part, is_sought) for part in inner)


def infinite_rows(batch: pa.RecordBatch, places: list[int]) -> Offsets:
    """Return the rows with an infinite number in these columns, whose text may be a number that is too large."""
    found = np.zeros(batch.num_rows, np.bool_)
    for place in places:
        found |= _is_or_holds_infinity(batch.column(place), batch.schema.field(place))
    return np.flatnonzero(found)


def _is_or_holds_infinity(values: pa.Array, field: pa.Field) -> Mask:
    if pa.types.is_floating(field.type):
        infinite: Mask = np.isinf(values.to_numpy(zero_copy_only=False))
        return infinite
    return _holds(values, field.type, _is_or_holds_infinity)


def _holds(values: pa.Array, kind: pa.DataType, are_sought: Callable[[pa.Array, pa.Field], Mask]) -> Mask:
    """Return which values of a list or struct type have an item or member that is sought; none of other types have."""
    found = np.zeros(len(values), np.bool_)
    if pa.types.is_list(kind):
        found[np.asarray(pc.list_parent_indices(values))[are_sought(values.flatten(), kind.value_field)]] = True
    elif pa.types.is_struct(kind):
        for number in range(kind.num_fields):
            found |= are_sought(values.field(number), kind.field(number))
        found &= np.asarray(values.is_valid())
    return found


def columns_without_nulls(schema: pa.Schema) -> list[int]:
    """Return the indices of the columns that are not nullable, at any depth."""
    return [place for place, field in enumerate(schema) if _contains(field, lambda one: not one.nullable)]


def null_rows(batch: pa.RecordBatch, places: list[int]) -> dict[int, str]:
    """Return the rows with a null in one of `columns_without_nulls`, and why each is bad."""
    rows: dict[int, str] = {}
    for place in reversed(places):  # the reason names the first of several columns
        field, column = batch.schema.field(place), batch.column(place)
        rows |= dict.fromkeys(
            _with_null(column, field).tolist(), f"field {field.name!r} is null, but the schema says not null"
        )
        why = f"field {field.name!r} holds a null where the schema says not null"
        rows |= dict.fromkeys(np.flatnonzero(_holds(column, field.type, _is_or_holds_null)).tolist(), why)
    return rows


def _with_null(values: pa.Array, field: pa.Field) -> Offsets:
    if field.nullable or not values.null_count:
        return np.empty(0, np.int64)
    return np.flatnonzero(np.asarray(values.is_null()))


def _is_or_holds_null(values: pa.Array, field: pa.Field) -> Mask:
    """Return which values are null, or contain a null, where the type is not nullable."""
    found = _holds(values, field.type, _is_or_holds_null)
    found[_with_null(values, field)] = True
    return found


def unlikely_objects(schema: pa.Schema) -> Callable[[pa.BinaryArray], Offsets]:
    """Return a function that finds records whose numbers may not fit the schema, where the parser did not name them.

    It matches fields by name only, so it may miss bad records and return good ones.
    """
    names: dict[str, list[str]] = {}
    for field in schema:
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            names.setdefault(_unfit(field.type), []).append(re.escape(field.name))
    patterns = [
        ('"(?:' + "|".join(some) + ")" if len(some) < _FEW else "") + rf'"\s*:\s*{unfit}'
        for unfit, some in names.items()
    ]

    def unlikely(records: pa.BinaryArray) -> Offsets:
        if not patterns:
            return np.empty(0, np.int64)
        return np.flatnonzero(np.asarray(pc.match_substring_regex(records, "|".join(patterns))))

    return unlikely


def _unfit(kind: pa.DataType) -> str:
    """Return a pattern of numbers that may not fit the type: fractions, exponents and many digits."""
    if pa.types.is_floating(kind):
        return r"-?[0-9.]+[eE]\+?[0-9]{2}"
    most = str(2 ** (kind.bit_width - 1) - 1)
    return rf"-?(?:[0-9]+[.eE]|[{most[0]}-9][0-9]{{{len(most) - 1}}}|[0-9]{{{len(most) + 1}}})"
