"""Which texts of a column have the usual form of its type, found on whole arrays.

A column with some values that do not fit is converted at once without those, which are then looked at one by one.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.records.model import Mask, Offsets

Bytes = npt.NDArray[np.uint8]

_CASE = 0x20  # the bit that makes a letter lower case
_LONGEST = 32  # bytes of a number that every parser accepts
_ZERO, _NINE = ord("0"), 9
_MINUS, _DOT = (ord(mark) - _ZERO + 256 for mark in "-.")  # negative, so that bytes wrap around
_DATE, _SECONDS = len("2024-05-01"), len("2024-05-01T00:00:00")
_MARKS = {4: "-", 7: "-", 10: " T", 13: ":", 16: ":"}
_LAST_DAYS = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31, *[0] * 243], np.uint8)  # by the month
_WITHOUT_ZONE = re.compile(rb"(?:\.[0-9]+)?\Z")  # behind the seconds
_WITH_ZONE = re.compile(rb"(?:\.[0-9]+)?(?:Z|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9])?\Z")
_FIRST_CENTURY, _LAST_CENTURY = 17, 21  # of years that nanoseconds hold, by their first digits
_LATEST = {11: 23, 14: 59, 17: 59}  # hours, minutes, seconds


def are_usual(texts: pa.StringArray, kind: pa.DataType) -> Mask:
    """Return which texts have a form that is nearly always valid for a type; none for types without such a form."""
    if pa.types.is_integer(kind):
        longest, signs = len(str(2 ** (kind.bit_width - 1))) - 1, pa.types.is_signed_integer(kind)
        return plain_numbers(texts, longest=longest, dots=False, signs=signs)
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return plain_numbers(texts)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return usual_times(texts, kind)
    return np.zeros(len(texts), np.bool_)


def plain_numbers(texts: pa.StringArray, *, longest: int = _LONGEST - 1, dots: bool = True, signs: bool = True) -> Mask:
    """Return which texts are plain decimal numbers: a sign, digits without leading zeros, and dots between digits.

    Args:
        texts: may have nulls, for which the answer means nothing.
        longest: how many digits and dots there may be.
        dots: whether there may be dots.
        signs: whether there may be a minus.
    """
    data, borders = _parts(texts)
    if not len(data):
        return np.zeros(len(texts), np.bool_)
    data = data - _ZERO  # digits become 0 to 9, and all other bytes are above
    begins, ends = borders[:-1], borders[1:]
    strange = data > _NINE
    if dots:
        strange &= data != _DOT
    last = len(data) - 1
    signed = (data[np.minimum(begins, last)] == _MINUS) & (ends > begins)
    if signs and signed.any():
        strange[begins[signed]] = False
        begins = begins + signed
    lengths = ends - begins
    first = data[np.minimum(begins, last)]
    plain: Mask = (first <= _NINE) & (data[ends - 1] <= _NINE) & (lengths > 0) & (lengths <= longest)
    zeros = np.flatnonzero((first == 0) & (lengths > 1))
    plain[zeros] &= data[np.minimum(begins[zeros] + 1, last)] == _DOT
    if strange.any():
        plain[np.searchsorted(ends, np.flatnonzero(strange), side="right")] = False
    return plain


def usual_times(texts: pa.StringArray, kind: pa.DataType) -> Mask:
    """Return which texts are valid for a type of times or dates, of those whose form most of them have; not Feb 29."""
    data, borders = _parts(texts)
    lengths = np.diff(borders)
    usual: Mask = np.zeros(len(texts), np.bool_)
    length = int(np.bincount(np.minimum(lengths, _LONGEST + 1)).argmax()) if len(texts) else 0
    rows = np.flatnonzero(lengths == length)
    if not length or length > _LONGEST:
        return usual
    first = bytes(data[borders[rows[0]] :][:length])
    form = _WITH_ZONE if pa.types.is_timestamp(kind) and kind.tz is not None else _WITHOUT_ZONE
    if length != _DATE and (pa.types.is_date(kind) or not form.match(first[_SECONDS:]) or length < _SECONDS):
        return usual
    if len(rows) < len(texts):
        data = data[np.repeat(lengths == length, lengths)]
    places = np.ascontiguousarray(data.reshape(len(rows), length).T)
    usual[rows] = _are_times(places)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":  # which end in 1677 and 2262
        centuries = (places[0] - _ZERO) * 10 + places[1] - _ZERO
        usual[rows] &= (centuries >= _FIRST_CENTURY) & (centuries <= _LAST_CENTURY)
    return usual


def holds_x(texts: pa.StringArray) -> bool:
    """Return whether there is an `x` in a text, as in hexadecimal numbers."""
    data, _ = _parts(texts)  # with what is null now
    has = bool(((data | _CASE) == ord("x")).any())
    return has and bool(pc.any(pc.match_substring(texts, "x", ignore_case=True)).as_py())


def _are_times(places: Bytes) -> Mask:
    """Return which texts are times, and end as the first one does; the characters are given by their place."""
    length, digits = len(places), places - _ZERO
    good: Mask = np.ones(places.shape[1], np.bool_)
    for place, character in enumerate(places):
        if place in _MARKS:
            good &= np.logical_or.reduce([character == ord(mark) for mark in _MARKS[place]])
        elif place < _SECONDS or digits[place, 0] <= _NINE:
            good &= digits[place] <= _NINE
        else:
            good &= character == character[0]
    months, days = (digits[place] * 10 + digits[place + 1] for place in (5, 8))
    good &= (days > 0) & (days <= _LAST_DAYS[months])
    for place, latest in _LATEST.items():
        if place < length:
            good &= digits[place] * 10 + digits[place + 1] <= latest
    return good


def _parts(texts: pa.StringArray) -> tuple[Bytes, Offsets]:
    """Return the characters of all texts, and the borders of each one."""
    _, offsets, characters = texts.buffers()
    if not len(texts) or characters is None:
        return np.empty(0, np.uint8), np.zeros(len(texts) + 1, np.int64)
    borders = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    first, end = int(borders[0]), int(borders[-1])
    return np.frombuffer(characters, np.uint8, end)[first:], borders - first
