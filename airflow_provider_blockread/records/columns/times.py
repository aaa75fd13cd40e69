"""Conversion of times from text to Arrow, for all typed formats."""

from __future__ import annotations

import re
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from airflow_provider_blockread.errors import OptionsError

_OLDEST = 23  # version of pyarrow that refuses times which nanoseconds do not hold; earlier ones read others instead
_ZONE = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"
_EXCESS_DIGITS = {  # digits beyond a unit, after those that are kept
    "s": r"([T ]\d\d:\d\d:\d\d)\.\d+",
    "ms": r"(\.\d{3})\d+",
    "us": r"(\.\d{6})\d+",
    "ns": r"(\.\d{9})\d+",
}


def check_times(schema: pa.Schema) -> None:
    """Refuse columns of nanoseconds where pyarrow, which on executors may be any version, reads some of them wrongly.

    Raises:
        OptionsError: naming the column.
    """
    if int(pa.__version__.partition(".")[0]) >= _OLDEST:
        return
    for field in schema:
        if "timestamp[ns" in str(field.type):
            msg = (
                f"column {field.name!r} of nanoseconds needs pyarrow {_OLDEST} or newer, and here is {pa.__version__},"
                " which takes years beyond 2262 for others; install a newer one on all workers, or choose timestamp[us]"
            )
            raise OptionsError(msg)


def times(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    """Return ISO 8601 times as `kind`; those without a zone are in UTC where `kind` is an instant.

    Digits beyond the unit of `kind` are truncated.

    Raises:
        ArrowInvalid: when a text is not a time, or has a zone where `kind` has none.
    """
    try:
        return quick_times(texts, kind)
    except pa.ArrowInvalid:
        return times_reader(texts, kind)(0, len(texts))


def times_reader(texts: pa.StringArray, kind: pa.DataType) -> Callable[[int, int], pa.Array]:
    """Return what reads a range of texts, given by its indices, as `times` does; what is slow is done before.

    Args:
        texts: of times.
        kind: a type of times or dates, or any other that Arrow casts to.
    """
    if not pa.types.is_timestamp(kind):
        return lambda low, high: pc.cast(texts[low:high], kind)
    texts = pc.replace_substring_regex(texts, _EXCESS_DIGITS[kind.unit], r"\1")
    if kind.tz is None:
        return lambda low, high: pc.cast(texts[low:high], kind)
    zoned, absent = pc.match_substring_regex(texts, _ZONE), pa.scalar(None, pa.string())
    with_zone, without = pc.if_else(zoned, texts, absent), pc.if_else(zoned, absent, texts)

    def read(low: int, high: int) -> pa.Array:
        unzoned = pc.cast(without[low:high], pa.timestamp(kind.unit))
        return pc.coalesce(pc.cast(with_zone[low:high], kind), pc.cast(unzoned, kind))

    return read


def quick_times(texts: pa.StringArray, kind: pa.DataType) -> pa.Array:
    """Return the same as `times`, faster, where all texts have the same form.

    Raises:
        ArrowInvalid: when they do not, or a text is not a time.
    """
    sample = _sample(texts)
    if _has_excess_digits(sample, kind):
        texts = pc.replace_substring_regex(texts, _EXCESS_DIGITS[kind.unit], r"\1")
    return pc.cast(pc.cast(texts, _form(sample, kind)), kind)


def parsed_as(texts: pa.StringArray, kind: pa.DataType) -> pa.DataType | None:
    """Return the type of times that a parser makes of texts written as the first one; None where digits must be cut.

    What it makes needs a cast to `kind` only.
    """
    sample = _sample(texts)
    return None if _has_excess_digits(sample, kind) else _form(sample, kind)


def _sample(texts: pa.StringArray) -> str:
    return next((text.as_py() for text in texts if text.is_valid), "")


def _has_excess_digits(text: str, kind: pa.DataType) -> bool:
    return re.search(_EXCESS_DIGITS[kind.unit], text) is not None


def _form(text: str, kind: pa.DataType) -> pa.DataType:
    return kind if re.search(_ZONE, text) else pa.timestamp(kind.unit)
