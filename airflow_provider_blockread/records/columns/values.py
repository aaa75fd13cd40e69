"""Conversion of text columns to a type by Arrow, such that a bad value does not affect the others."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.records.columns.decimals import NUMBER, fits_decimal, require_room
from airflow_provider_blockread.records.columns.times import quick_times, times
from airflow_provider_blockread.records.columns.usual import are_usual, holds_x
from airflow_provider_blockread.records.model import Offsets

_NONE = np.empty(0, np.int64)
_PIECES, _FEWEST = 16, 256  # of a column with misfits, and values of one
_FEW = 64  # texts
_BLANKS = " \t"
#: What Arrow does not read of some types, and how it does.
_SPELLINGS = (
    (pa.types.is_integer, r"^\+([0-9])", r"\1"),
    (pa.types.is_date, r"^(.{10})[ T]00:00(?::00(?:\.0+)?)?$", r"\1"),
    (pa.types.is_timestamp, r"(:[0-9.]+) UTC$", r"\1Z"),
    (pa.types.is_timestamp, r"(:[0-9.]+) ([-+])", r"\1\2"),
)


def typed(
    values: pa.BinaryArray, kind: pa.DataType, *, valid: bool, expect_misfits: bool = False
) -> tuple[pa.Array, Offsets]:
    """Return bytes as values of `kind`, and the indices of misfits, which are null among the values.

    Text must be UTF-8. A binary column keeps the bytes unchanged.

    Args:
        values: the bytes.
        kind: the type.
        valid: all values are known to be UTF-8.
        expect_misfits: look for them first, which takes longer where there are none.

    Raises:
        ArrowNotImplementedError: when text cannot be converted to the type at all.
    """
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return values.cast(kind), _NONE
    texts, broken = (values.view(pa.string()), _NONE) if valid else _texts(values)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return texts.cast(kind), broken
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        msg = f"no text becomes {kind}"
        raise pa.ArrowNotImplementedError(msg)
    array, misfits = convert(texts, kind, expect_misfits=expect_misfits)
    return array, np.union1d(broken, misfits) if len(broken) else misfits


def _texts(values: pa.BinaryArray) -> tuple[pa.StringArray, Offsets]:
    try:
        return values.cast(pa.string()), _NONE
    except pa.ArrowInvalid:
        broken = not_utf8(values)
        return without(values, broken).cast(pa.string()), broken


def convert(texts: pa.StringArray, kind: pa.DataType, *, expect_misfits: bool = False) -> tuple[pa.Array, Offsets]:
    """Return the values as `kind`, and the indices of misfits, which are null among the values.

    Blanks around a value are ignored, and a blank value is null. Times are ISO 8601 as `times` reads them, booleans are
    `true` or `false` in any case, `1` or `0`, and numbers are what Arrow parses as such, except hexadecimal ones. As
    in Spark, integers may have a plus, dates the time of midnight, and times ` UTC` or a blank before their zone.

    Args:
        texts: the values.
        kind: the type.
        expect_misfits: look for them first, which takes longer where there are none.
    """
    if not expect_misfits:
        array = _quick_or_none(texts, kind)
        if array is not None:
            return array, _NONE
    return _convert_around(texts, kind) or _convert_pieces(texts, kind)


def _convert_around(texts: pa.StringArray, kind: pa.DataType) -> tuple[pa.Array, Offsets] | None:
    """Do what `convert` does where all but a few texts have the usual form of the type; else return None."""
    odd = _odd(texts, kind)
    if len(odd) * _PIECES > len(texts):
        return None
    array = _quick_or_none(without(texts, odd), kind)
    if array is None or not len(odd):
        return None if array is None else (array, _NONE)
    hopeless = np.fromiter(_hopeless(texts.take(pa.array(odd)).to_pylist(), kind), np.bool_, len(odd))
    odd, bad = odd[~hopeless], odd[hopeless]
    if len(odd):
        others, misfits = _convert_each(texts.take(pa.array(odd)), kind, np.arange(len(odd)))
        array, bad = _replaced(array, odd, others), np.union1d(bad, odd[misfits])
    return array, bad


def _odd(texts: pa.StringArray, kind: pa.DataType) -> Offsets:
    """Return the indices of the texts that do not have the usual form of the type."""
    return np.flatnonzero(~are_usual(texts, kind) & np.asarray(texts.is_valid()))


def _hopeless(texts: Iterable[str], kind: pa.DataType) -> Iterator[bool]:
    """Yield whether each of a few texts cannot be of the type, which Arrow takes a millisecond to say of one."""
    is_possible = re.compile(_possible(kind)).fullmatch
    for text in texts:
        tidy = text.strip(_BLANKS)
        yield bool(tidy) and is_possible(tidy) is None


def _convert_pieces(texts: pa.StringArray, kind: pa.DataType) -> tuple[pa.Array, Offsets]:
    """Do what `convert` does, value by value only in those pieces that cannot be converted at once."""
    size = max(len(texts) // _PIECES, _FEWEST)
    pieces = [texts[low : low + size] for low in range(0, max(len(texts), 1), size)]
    arrays = [_quick_or_none(piece, kind) for piece in pieces]
    left = [number for number, array in enumerate(arrays) if array is None]
    if not left:
        return pa.concat_arrays(arrays), _NONE
    places = np.concatenate([np.arange(number * size, number * size + len(pieces[number])) for number in left])
    texts = pa.concat_arrays([pieces[number] for number in left])
    fractions = pa.types.is_floating(kind) or pa.types.is_decimal(kind)  # of which `1.5.2` has the usual form
    array, bad = _convert_each(texts, kind, _unlike(texts, NUMBER) if fractions else _odd(texts, kind))
    done = 0
    for number in left:
        arrays[number] = array[done : done + len(pieces[number])]
        done += len(pieces[number])
    return pa.concat_arrays(arrays), places[bad]


def _quick_or_none(texts: pa.StringArray, kind: pa.DataType) -> pa.Array | None:
    try:
        return _quick(texts, kind)
    except pa.ArrowInvalid:
        return None


def _convert_each(texts: pa.StringArray, kind: pa.DataType, doubtful: Offsets) -> tuple[pa.Array, Offsets]:
    """Do what `convert` does, and look at those texts first whose form is unusual for the type."""
    texts = _replaced(texts, doubtful, _tidy(texts.take(pa.array(doubtful)), kind))
    bad = _misfits(texts, kind, doubtful)
    texts = without(texts, bad)
    try:
        return _cast(texts, kind), bad
    except pa.ArrowInvalid:
        bad = np.union1d(bad, _misfits(texts, kind, np.arange(len(texts))))
        return _cast(without(texts, bad), kind), bad


def without(values: pa.Array, places: Offsets) -> pa.Array:
    """Return the values with nulls at `places`, over the same buffers."""
    if not len(places):
        return values
    present = np.asarray(values.is_valid()).copy()
    present[places] = False
    bits = np.packbits(np.append(np.ones(values.offset, np.bool_), present), bitorder="little")
    buffers = [pa.py_buffer(bits), *values.buffers()[1:]]
    return pa.Array.from_buffers(values.type, len(values), buffers, offset=values.offset)


def _possible(kind: pa.DataType) -> str:
    """Return a pattern that matches every text that may be of the type."""
    if pa.types.is_integer(kind):
        return f"[-+]?0*[0-9]{{1,{len(str(2**kind.bit_width))}}}"
    if pa.types.is_boolean(kind):
        return "(?i:true|false)|1|0"
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])(?:[ T][-+0-9Z:.]+(?: UTC| [-+][0-9:]+)?)?"
    return f"{NUMBER}|[-+]?(?i:nan|inf).*"


def is_utf8(text: bytes) -> bool:
    """Return whether bytes are UTF-8."""
    if text.isascii():
        return True
    try:
        require_utf8(pa.py_buffer(text))
    except pa.ArrowInvalid:
        return False
    return True


def require_utf8(text: pa.Buffer) -> None:
    """Check that bytes are UTF-8.

    Raises:
        ArrowInvalid: when they are not.
    """
    borders = pa.py_buffer(np.array([0, text.size], np.int64))
    pa.Array.from_buffers(pa.large_string(), 1, [None, borders, text]).validate(full=True)


def not_utf8(values: pa.BinaryArray) -> Offsets:
    """Return the indices of the values that are not UTF-8, in about one pass over their bytes."""
    values = pc.fill_null(values, b"")
    whole = pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)
    text = memoryview(pc.binary_join(whole, b"\n")[0].as_buffer())
    ends = np.cumsum(_numbers(pc.binary_length(values)) + 1)
    bad: list[int] = []
    position = 0
    while position < len(text):
        try:
            codecs.utf_8_decode(text[position:], "strict", True)  # noqa: FBT003 - it takes no keywords
        except UnicodeDecodeError as error:
            bad.append(int(np.searchsorted(ends, position + error.start, "right")))
            position = int(ends[bad[-1]])
        else:
            break
    return np.array(bad, np.int64)


def _quick(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    """Return all texts as `kind`; times must have the same form."""
    return quick_times(texts, kind) if pa.types.is_timestamp(kind) else _cast(texts, kind)


def _cast(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return times(texts, kind)
    if pa.types.is_decimal(kind):
        require_room(texts, kind)
    if pa.types.is_integer(kind) and holds_x(texts):
        msg = f"{kind}: hexadecimal digits, which Arrow takes for any bits of the type"  # 0xFF would be -1
        raise pa.ArrowInvalid(msg)
    return pc.cast(texts, kind)


def _replaced(values: pa.Array, places: Offsets, by: pa.Array) -> pa.Array:
    mask = np.zeros(len(values), np.bool_)
    mask[places] = True
    return pc.replace_with_mask(values, pa.array(mask), by)


def _tidy(texts: pa.StringArray, kind: pa.DataType) -> pa.StringArray:
    texts = pc.utf8_trim(texts, _BLANKS)
    texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, texts.type), texts)
    for applies, pattern, plain in _SPELLINGS:
        if applies(kind):
            texts = pc.replace_substring_regex(texts, pattern, plain)
    return pc.utf8_lower(texts) if pa.types.is_boolean(kind) else texts


def _unlike(texts: pa.StringArray, pattern: str) -> Offsets:
    """Return the indices of texts that a pattern does not match completely; it matches null."""
    like = pc.fill_null(pc.match_substring_regex(texts, f"^(?:{pattern})$"), fill_value=True)
    return _numbers(pc.indices_nonzero(pc.invert(like)))


def _misfits(texts: pa.StringArray, kind: pa.DataType, places: Offsets) -> Offsets:
    """Return those of `places` whose text is not of the type; equal texts are checked once."""
    encoded = texts.take(pa.array(places)).dictionary_encode()
    is_bad = np.zeros(len(encoded.dictionary) + 1, np.bool_)  # the last one is null
    if pa.types.is_decimal(kind):
        is_bad[:-1] = [not fits_decimal(text, kind) for text in encoded.dictionary.to_pylist()]
    else:
        is_bad[_unlike(encoded.dictionary, _possible(kind))] = True
    possible = np.flatnonzero(~is_bad[:-1])
    texts = encoded.dictionary.take(pa.array(possible))
    found = many_failures(lambda low, high: _quick(texts[low:high], kind), len(texts))
    is_bad[possible[[index for index, _ in found]]] = True
    return places[is_bad[_numbers(pc.fill_null(encoded.indices, len(is_bad) - 1))]]


def many_failures(check: Callable[[int, int], object], count: int) -> Iterator[tuple[int, pa.ArrowInvalid]]:
    """Yield the indices below `count` for which `check` fails, and the errors; a few are checked one by one.

    That is half of the calls that bisection takes where most of them fail.
    """
    step = 1 if count <= _FEW else count
    for low in range(0, count, step):
        yield from _failures(check, low, low + step)


def _failures(check: Callable[[int, int], object], low: int, high: int) -> Iterator[tuple[int, pa.ArrowInvalid]]:
    """Yield the indices in `[low, high)` for which `check` fails, and the errors, by bisection."""
    try:
        check(low, high)
    except pa.ArrowInvalid as error:
        if high - low == 1:
            yield low, error
            return
        middle = (low + high) // 2
        yield from _failures(check, low, middle)
        yield from _failures(check, middle, high)


def _numbers(values: pa.Array) -> Offsets:
    return np.asarray(values).astype(np.int64)
